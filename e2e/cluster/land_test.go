package cluster

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"svc"
	"svc/api"
	"svc/internal/proctest"
	"svc/internal/waittest"
)

// repository returns the bare repository into which changes are landed. The first call creates it.
func (s *site) repository() string {
	s.t.Helper()
	dir := filepath.Join(s.lab.Dir, "repository.git")
	if _, err := os.Stat(dir); err == nil {
		return dir
	}
	script := `git init -q -b main work && cd work && echo base >file && git add file && git -c user.name=t -c user.email=t@t commit -q -m base && cd .. && git clone -q --bare work "$1"`
	fresh := exec.CommandContext(s.t.Context(), "sh", "-ec", script, "sh", dir)
	fresh.Dir = s.t.TempDir()
	if said, err := fresh.CombinedOutput(); err != nil {
		s.t.Fatalf("make a repository: %v\n%s", err, said)
	}
	return dir
}

// change makes a change by a run in a new working copy. land requests its landing until the request is acknowledged.
// wantOnce then fails the test unless the change is landed exactly once.
func (s *site) change(mark string) (land, wantOnce func()) {
	s.t.Helper()
	t, repo, file := s.t, s.repository(), strings.ReplaceAll(mark, "/", "-")
	project, err := s.client.CreateProject(t.Context(), api.CreateProject{Name: mark, Source: api.Source{Repo: api.Some(repo)}})
	if err != nil {
		t.Fatal(err)
	}
	item, err := s.client.CreateWorkItem(t.Context(), api.CreateWorkItem{ProjectID: project.ID, Kind: svc.KindTask, Title: mark})
	if err != nil {
		t.Fatal(err)
	}
	run := s.runOf(mark+" change", item.ID, "echo "+mark+" >"+file)
	s.awaitEnd(run)
	var w svc.Workspace
	waittest.Eventually(t, "the change is relayed", func() bool {
		r, err := s.client.Run(t.Context(), run)
		if err != nil || r.WorkspaceID == nil {
			return false
		}
		w, err = s.client.Workspace(t.Context(), *r.WorkspaceID)
		return err == nil && w.RelayedCheckpoint > 0 && w.RelayedCheckpoint == w.Checkpoint && w.State == svc.WorkspaceReady
	})
	land = func() {
		c := &caller{limit: 10 * time.Second, fails: func(what string, err error) {
			if !transient(err) && svc.CodeOf(err) != svc.CodeHostNotConnected {
				t.Errorf("%s failed: %v", what, err)
			}
		}}
		c.retry("landing "+mark, func(ctx context.Context) error {
			_, err := s.client.LandWorkspace(api.WithIdempotencyKey(ctx, "land "+mark), w.ID, api.LandWorkspace{Checkpoint: w.Checkpoint, How: string(svc.LandSquash)})
			return err
		})
	}
	return land, func() {
		landed := s.readers["balancer"].Where
		of := func(e proctest.Event) bool {
			return e.Text("workspace_id") == w.ID && (e.Topic == svc.TopicWorkspaceLanded || e.Topic == svc.TopicWorkspaceLandFailed)
		}
		waittest.Eventually(s.t, "the journal has an event of the landing", func() bool { return len(landed(of)) > 0 })
		if told := landed(of); len(told) != 1 || told[0].Topic != svc.TopicWorkspaceLanded {
			s.t.Errorf("the events of the landing are %v, want one of success", told)
		}
		commits, err := exec.CommandContext(s.t.Context(), "git", "-C", repo, "log", "--format=%H", "main", "--", file).Output()
		if n := strings.Count(string(commits), "\n"); err != nil || n != 1 {
			s.t.Errorf("the repository has the change %d times (%v)", n, err)
		}
	}
}
