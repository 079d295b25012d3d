package fault

import (
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"svc"
	"svc/api"
	"svc/internal/proctest"
	"svc/internal/waittest"
)

// repository creates a repository with one commit, and a project whose runs use working copies of it. New tasks belong
// to that project.
func (s *site) repository() string {
	s.t.Helper()
	repo := s.lab.Path("repo")
	for _, args := range [][]string{
		{"init", "-q", "-b", "main", repo},
		{"-C", repo, "-c", "user.name=a", "-c", "user.email=a@localhost", "commit", "-q", "--allow-empty", "-m", "first"},
	} {
		if said, err := exec.Command("git", args...).CombinedOutput(); err != nil {
			s.t.Fatalf("git %v: %v\n%s", args, err, said)
		}
	}
	project, err := s.client.CreateProject(s.t.Context(), api.CreateProject{Name: "Copies", Source: api.Source{Repo: api.Some(repo)}})
	if err != nil {
		s.t.Fatal(err)
	}
	s.project = project.ID
	s.task = s.newTask()
	return repo
}

func (s *site) workspace(runID string) svc.Workspace {
	s.t.Helper()
	r := s.get(runID)
	if r.WorkspaceID == nil {
		s.t.Fatalf("run %s has no workspace", runID)
	}
	w, err := s.client.Workspace(s.t.Context(), *r.WorkspaceID)
	if err != nil {
		s.t.Fatal(err)
	}
	return w
}

func TestWhatAnAgentWroteGoesOnWithItToAnotherHost(t *testing.T) {
	t.Parallel()
	s := newSite(t, proctest.ServeOptions{})
	s.repository()
	one := s.worker(proctest.WorkerOptions{Name: "one"})
	mark := s.lab.Path("go")
	// The agent commits nothing: the next attempt continues with the files as the first one left them.
	r := s.run("case $SVC_ATTEMPT in 1) echo by the first > work.txt; while ! test -e "+mark+"; do sleep 0.05; done; exit 5;; esac\n"+
		"cat work.txt && echo by the second >> work.txt && git status --short",
		func(b *api.CreateRun) { b.RestartPolicy = api.Some(svc.RestartOnFailure) })
	s.follower.AwaitRun(r.ID, svc.TopicRunOutput)
	s.worker(proctest.WorkerOptions{Name: "two"})
	if _, err := s.client.DisableHost(t.Context(), one.HostID); err != nil {
		t.Fatal(err)
	}
	s.lab.Write(mark, "")
	s.follower.AwaitRun(r.ID, svc.TopicRunRequeued)
	first := s.workspace(r.ID)
	one.Kill()
	removeAll(t, filepath.Join(one.Dir, "work"), filepath.Join(one.Dir, "mirrors")) // only the orchestrator's copy of the changes remains
	s.follower.Await(waittest.Patience, "the second attempt has ended", func([]proctest.Event) bool {
		return len(s.follower.Of(r.ID, svc.TopicRunFinished, svc.TopicRunFailed)) == 2
	})
	if got := s.get(r.ID); got.Status != svc.RunExited || got.Attempt != 2 {
		t.Errorf("the run is %s at attempt %d, error %v\n%s", got.Status, got.Attempt, got.Error, s.relayed(r.ID))
	}
	second := s.workspace(r.ID)
	if second.ID == first.ID || second.HostID == first.HostID || second.RestoredFrom != first.ID || second.BaseCommit != first.BaseCommit ||
		first.RelayedCheckpoint == 0 || second.RelayedCheckpoint <= first.RelayedCheckpoint {
		t.Errorf("the first attempt worked in %+v, the second in %+v", first, second)
	}
	patch, err := s.client.Diff(t.Context(), second.ID, api.ChangeQuery{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = patch.Close() }()
	text, err := io.ReadAll(patch)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), "+by the first\n+by the second\n") {
		t.Errorf("the relayed change has not the lines of both attempts:\n%s", text)
	}
}
