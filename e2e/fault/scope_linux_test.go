package fault

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"svc/internal/proctest"
)

// systemd adds a fake systemd-run to a worker's PATH. It writes the arguments of each call as a line to
// a file, and then runs the shell script. calls returns the arguments of all calls.
func systemd(s *site, w *proctest.Worker, script string) (calls func() [][]string) {
	s.t.Helper()
	if os.Geteuid() != 0 {
		s.t.Skip("without root, a worker uses systemd only if there is a user manager, which this machine may not have")
	}
	program, notes := s.lab.Path("fake", "systemd-run"), s.lab.Path("calls")
	s.lab.Write(notes, "")
	s.lab.Write(program, "#!/bin/sh\necho \"$@\" >> "+notes+"\n"+script)
	if err := os.Chmod(program, 0o700); err != nil {
		s.t.Fatal(err)
	}
	w.Setenv("PATH", s.lab.Path("fake")+":"+os.Getenv("PATH"))
	return func() (calls [][]string) {
		text, err := os.ReadFile(notes)
		if err != nil {
			s.t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			calls = append(calls, strings.Fields(line))
		}
		return calls
	}
}

// executes is the script of a systemd-run that works: it executes the command after "--".
const executes = `while [ "$1" != -- ]; do shift; done; shift; exec "$@"`

func (s *site) wantRun(code int) (runID string) {
	s.t.Helper()
	run := s.run(fmt.Sprintf("exit %d", code))
	s.awaitEnd(run.ID)
	s.wantOneLife(run.ID, code)
	return run.ID
}

func TestEachRunIsAScopeOfItsOwnWithItsLimits(t *testing.T) {
	t.Parallel()
	s := newSite(t, proctest.ServeOptions{})
	w := proctest.NewWorker(s.o, proctest.WorkerOptions{Config: "run_memory_max = \"2G\"\nrun_tasks_max = 300"})
	calls := systemd(s, w, executes)
	w.Start()
	runs := []string{s.wantRun(3), s.wantRun(0)}
	all := calls()
	if len(all) != 1+len(runs) || all[0][len(all[0])-1] != "true" {
		t.Fatalf("systemd-run was called with %q, want a probe and a call for each run", all)
	}
	for i, call := range all[1:] {
		words, command := splitCall(call)
		unit := slices.IndexFunc(words, func(w string) bool { return strings.HasPrefix(w, "--unit=svc-"+runs[i][:8]+"-") })
		if unit < 0 {
			t.Fatalf("the scope of run %s has no --unit with the run's id: %q", runs[i], words)
		}
		words = slices.Delete(words, unit, unit+1)
		want := strings.Fields("--system --scope --collect --quiet --no-ask-password -p OOMPolicy=continue -p MemoryMax=2G -p TasksMax=300")
		if !slices.Equal(words, want) {
			t.Errorf("the scope was requested with %q, want %q", words, want)
		}
		if !slices.Contains(command, "tmux") {
			t.Errorf("the scope executes %q, want tmux", command)
		}
	}
}

// splitCall splits a call of systemd-run into its own options and the command after "--".
func splitCall(call []string) (words, command []string) {
	i := slices.Index(call, "--")
	return call[:i], call[i+1:]
}

func TestARunWhoseScopeIsRefusedIsStartedWithoutOne(t *testing.T) {
	t.Parallel()
	s := newSite(t, proctest.ServeOptions{})
	w := proctest.NewWorker(s.o, proctest.WorkerOptions{})
	calls := systemd(s, w, `case "$*" in *"-- true") exit 0; esac; echo no more units >&2; exit 1`)
	w.Start()
	s.wantRun(3)
	s.wantRun(0)
	if got := len(calls()); got != 3 {
		t.Errorf("systemd-run was called %d times, want a probe and one try for each run", got)
	}
	if got := strings.Count(w.Log(), "no more units"); got != 1 {
		t.Errorf("the refusal was logged %d times, want once", got)
	}
}

func TestScopesAreMadeOnlyWhereTheyCanBeAndAreWanted(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		config, script string
		calls          int
		warned         bool
	}{
		"off":                        {"scopes = \"off\"", executes, 0, false},
		"no systemd":                 {"", "exit 1", 2, false},
		"no systemd, but limits":     {"run_tasks_max = 9", "exit 1", 2, true},
		"a systemd before OOMPolicy": {"", `case "$*" in *OOMPolicy*) exit 1; esac; ` + executes, 3, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, proctest.ServeOptions{})
			w := proctest.NewWorker(s.o, proctest.WorkerOptions{Config: c.config})
			calls := systemd(s, w, c.script)
			w.Start()
			s.wantRun(4)
			if got := calls(); len(got) != c.calls {
				t.Errorf("systemd-run was called with %q, want %d calls", got, c.calls)
			}
			if got := strings.Contains(w.Log(), "have no effect"); got != c.warned {
				t.Errorf("the log says that limits have no effect: %v, want %v", got, c.warned)
			}
		})
	}
}
