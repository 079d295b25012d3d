package fault

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"svc"
	"svc/api"
	"svc/internal/proctest"
	"svc/internal/waittest"
)

// remote is a bare repository into which changes are landed. A test can make it block a push in a hook.
type remote struct {
	t   *testing.T
	dir string
}

// stopHook blocks a push in the hook while the file "stop-<hook>" exists.
const stopHook = `#!/bin/sh
test -e stop-$(basename $0) || exit 0
touch at-$(basename $0)
while test -e stop-$(basename $0); do sleep 0.02; done
`

func newRemote(s *site) remote {
	s.t.Helper()
	r := remote{s.t, s.lab.Path("remote.git")}
	if said, err := exec.Command("git", "clone", "-q", "--bare", s.repository(), r.dir).CombinedOutput(); err != nil {
		s.t.Fatalf("git clone: %v\n%s", err, said)
	}
	for _, hook := range []string{"pre-receive", "post-receive"} {
		if err := os.WriteFile(filepath.Join(r.dir, "hooks", hook), []byte(stopHook), 0o700); err != nil {
			s.t.Fatal(err)
		}
	}
	return r
}

func (r remote) git(args ...string) string {
	r.t.Helper()
	said, err := exec.Command("git", append([]string{"-C", r.dir}, args...)...).CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %v: %v\n%s", args, err, said)
	}
	return strings.TrimSpace(string(said))
}

// stop makes the next push block in a hook. reached waits until a push is blocked there, and goOn lets it continue.
func (r remote) stop(hook string) (reached, goOn func()) {
	r.t.Helper()
	stop, at := filepath.Join(r.dir, "stop-"+hook), filepath.Join(r.dir, "at-"+hook)
	if err := os.WriteFile(stop, nil, 0o600); err != nil {
		r.t.Fatal(err)
	}
	reached = func() {
		r.t.Helper()
		waittest.Eventually(r.t, "a push has reached "+hook, func() bool {
			_, err := os.Stat(at)
			return err == nil
		})
	}
	return reached, func() { removeAll(r.t, stop, at) }
}

// TestALandingThatIsCutOffHappensOnce kills worker and orchestrator before the push, while the repository checks the
// push, and after the branch has moved but before the result was reported.
func TestALandingThatIsCutOffHappensOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t, proctest.ServeOptions{})
	r := newRemote(s)
	project, err := s.client.CreateProject(t.Context(), api.CreateProject{Name: "Landings", Source: api.Source{Repo: api.Some("file://" + r.dir)}})
	if err != nil {
		t.Fatal(err)
	}
	s.project = project.ID
	host := s.worker(proctest.WorkerOptions{})
	for name, victim := range map[string]*proctest.Process{"worker": host.Process, "orchestrator": s.o.Process} {
		for _, moment := range []string{"asked", "pre-receive", "post-receive"} {
			what := name + " at " + moment
			s.task = s.newTask()
			run := s.run("echo '" + what + "' > '" + what + "'")
			s.awaitEnd(run.ID)
			var w svc.Workspace
			waittest.Eventually(t, what+": the change is kept", func() bool {
				w = s.workspace(run.ID)
				return w.RelayedCheckpoint > 0 && w.State == svc.WorkspaceReady
			})
			before := r.git("rev-parse", "main")
			reached, goOn := func() {}, func() {}
			if moment != "asked" {
				reached, goOn = r.stop(moment)
			}
			if _, err := s.client.LandWorkspace(t.Context(), w.ID, api.LandWorkspace{Checkpoint: w.Checkpoint, How: string(svc.LandSquash)}); err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			reached()
			victim.Kill()
			goOn()
			victim.Launch()
			s.o.AwaitReady()
			waittest.Eventually(t, what+": it has landed", func() bool { return s.workspace(run.ID).LandedCommit != "" })
			if got := r.git("log", "--format=%H %P", before+"..main"); got != s.workspace(run.ID).LandedCommit+" "+before {
				t.Errorf("%s: main has the commits %q after %s, the workspace has the landed commit %s", what, got, before, s.workspace(run.ID).LandedCommit)
			}
			if got := r.git("show", "main:"+what); got != what {
				t.Errorf("%s: the file has %q", what, got)
			}
			if n := len(s.follower.Of(run.ID, svc.TopicWorkspaceLanded)); n > 1 {
				t.Errorf("%s: landed %d times", what, n)
			}
		}
	}
}
