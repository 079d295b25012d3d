package wrapper

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"

	"svc/rundir"
)

func TestTheExitCodeIsTheProvidersOr128AndTheSignal(t *testing.T) {
	bothWays(t, func(t *testing.T, launchOf launcher) {
		for _, tt := range []struct {
			script string
			code   int
			reason string
		}{
			{"exit 0", 0, ""},
			{"exit 3", 3, ""},
			{"exit 255", 255, ""},
			{"kill -KILL $$", 137, "killed by SIGKILL"},
			{"kill -TERM $$", 143, "killed by SIGTERM"},
		} {
			t.Run(tt.script, func(t *testing.T) {
				t.Parallel()
				o := newOrchestrator(t)
				l := launchOf(t, t.TempDir(), o.URL+"/", tt.script)
				if got := start(t, l).exit(); got != tt.code {
					t.Errorf("exit code %d, want %d", got, tt.code)
				}
				wantExit(t, l, tt.code, tt.reason)
				got := o.signals()
				if want := []string{"started", "finished"}; !slices.Equal(kinds(got), want) {
					t.Fatalf("posted %v, want %v", kinds(got), want)
				}
				if got[1].ExitCode != tt.code || got[1].Reason != tt.reason || got[0].PID == nil {
					t.Errorf("posted %+v", got)
				}
				if left := spooled(t, rundir.Dir(l.DataDir)); len(left) != 0 {
					t.Errorf("still in the spool: %v", left)
				}
			})
		}
	})
}

func TestTheLaunchFileIsGoneWhenTheProviderRuns(t *testing.T) {
	t.Parallel()
	l := launchOf(t, t.TempDir(), "", `test -e "$SVC_RUN_DIR/../launch" && exit 9; test -e "$SVC_RUN_DIR/../wrapper" || exit 8`)
	if got := start(t, l).exit(); got != 0 {
		t.Errorf("exit code %d", got)
	}
}

func TestWhileAWorkerLivesItDelivers(t *testing.T) {
	t.Parallel()
	o := newOrchestrator(t)
	l := launchOf(t, t.TempDir(), o.URL, "exit 4")
	lock, err := rundir.Dir(l.DataDir).HoldWorkerLock()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = lock.Release() }()
	if got := start(t, l).exit(); got != 4 {
		t.Errorf("exit code %d", got)
	}
	if got := o.signals(); len(got) != 0 {
		t.Errorf("the wrapper posted %v itself", kinds(got))
	}
	if got, want := spooled(t, rundir.Dir(l.DataDir)), []string{"started", "finished"}; !slices.Equal(got, want) {
		t.Errorf("spool has %v, want %v", got, want)
	}
}

func TestWithoutAnOrchestratorAllStaysInTheSpool(t *testing.T) {
	t.Parallel()
	o := newOrchestrator(t)
	o.Close()
	l := launchOf(t, t.TempDir(), o.URL, "exit 0")
	if got := start(t, l).exit(); got != 0 {
		t.Errorf("exit code %d", got)
	}
	if got, want := spooled(t, rundir.Dir(l.DataDir)), []string{"started", "finished"}; !slices.Equal(got, want) {
		t.Errorf("spool has %v, want %v", got, want)
	}
}

func TestTheProvidersEnvironmentIsTheLaunchFilesAndTheSessions(t *testing.T) {
	bothWays(t, func(t *testing.T, launchOf launcher) {
		l := launchOf(t, t.TempDir(), "http://127.0.0.1:1", "env; echo cwd=$(pwd)")
		l.Cwd, l.PromptFile = t.TempDir(), "/p"
		l.Env = append(l.Env, "KEY=secret", "TMUX=/y", "TMUX_PANE=%1", "TERM_PROGRAM=x", "SVC_WORKER_TOKEN=worker", "SVC_SIGNING_KEY=key", "SVC_DATA_DIR=/d", "SVC_RUN_ID=old", "TERM=dumb")
		c := start(t, l)
		c.exit()
		<-c.done
		lines := strings.Split(strings.ReplaceAll(c.screen(), "\r", ""), "\n")
		for _, want := range []string{
			"KEY=secret", "SVC_API_URL=http://127.0.0.1:1", "SVC_RUN_ID=" + l.RunID, "SVC_TASK_ID=" + l.TaskID, "SVC_ATTEMPT=1",
			"SVC_SIGNAL_TOKEN=run-token", "SVC_PROMPT_FILE=/p", "SVC_RUN_DIR=" + l.AttemptFolder().SessionPath(), "COLORTERM=truecolor",
			"TERM=tmux-256color", "cwd=" + l.Cwd,
		} {
			if !slices.Contains(lines, want) {
				t.Errorf("%s is missing in %q", want, lines)
			}
		}
		for _, line := range lines {
			for _, never := range []string{"TMUX", "TERM_PROGRAM", "SVC_WORKER_TOKEN", "SVC_SIGNING_KEY", "SVC_DATA_DIR", "SVC_RUN_ID=old", "TERM=dumb", "WRAPPER_TEST_RUN"} {
				if strings.HasPrefix(line, never) {
					t.Errorf("the provider sees %s", line)
				}
			}
		}
	})
}

func TestAHookFindsThisVeryProgramAsSvc(t *testing.T) {
	bothWays(t, func(t *testing.T, launchOf launcher) {
		o := newOrchestrator(t)
		l := launchOf(t, t.TempDir(), o.URL, "svc exec signal progress --message hello && svc exec signal completed --result success")
		c := start(t, l)
		if got := c.exit(); got != 0 {
			t.Errorf("exit code %d:\n%s", got, c.screen())
		}
		got := kinds(o.signals())
		slices.Sort(got) // started is posted while the provider runs
		if want := []string{"completed", "finished", "progress", "started"}; !slices.Equal(got, want) {
			t.Errorf("posted %v, want %v", got, want)
		}
	})
}

func TestWhatCannotBeStartedIsNamedWithTheWayToFindOut(t *testing.T) {
	bothWays(t, func(t *testing.T, launchOf launcher) {
		dir := t.TempDir()
		for name, text := range map[string]string{"plain": "text", "script": "#!/no/such/interpreter\n", "junk": "\x00\x01"} {
			mode := os.FileMode(0o700)
			if name == "plain" {
				mode = 0o600
			}
			if err := os.WriteFile(dir+"/"+name, []byte(text), mode); err != nil {
				t.Fatal(err)
			}
		}
		for _, tt := range []struct {
			name string
			argv []string
			cwd  string
			code int
			says string
		}{
			{"no such program in PATH", []string{"no-such-agent"}, "/", 127, `"no-such-agent" was not found`},
			{"no such file", []string{dir + "/none"}, "/", 127, dir + "/none"},
			{"no such directory", []string{"sh"}, dir + "/gone", 127, "working directory " + dir + "/gone does not exist"},
			{"a file as directory", []string{"sh"}, dir + "/plain", 126, "is not a directory"},
			{"not executable", []string{dir + "/plain"}, "/", 126, "is not executable"},
			{"no interpreter", []string{dir + "/script"}, "/", 127, "interpreter"},
			{"no program at all", []string{dir + "/junk"}, "/", 126, "cannot be executed"},
			{"an argument that is too long", []string{"sh", strings.Repeat("x", 200_000)}, "/", 126, "too large"},
			{"nothing", nil, "/", 127, "empty"},
		} {
			t.Run(tt.name, func(t *testing.T) {
				t.Parallel()
				o := newOrchestrator(t)
				l := launchOf(t, t.TempDir(), o.URL, "")
				l.Argv, l.Cwd = tt.argv, tt.cwd
				c := start(t, l)
				if got := c.exit(); got != tt.code {
					t.Errorf("exit code %d, want %d", got, tt.code)
				}
				got := o.signals()
				if !slices.Equal(kinds(got), []string{"failed"}) || string(got[0].Source) != "wrapper" {
					t.Fatalf("posted %+v, want failed alone, of the wrapper", got)
				}
				host, _ := os.Hostname()
				for _, want := range []string{tt.says, "run `svc provider doctor provider_b` on this host"} {
					if !strings.Contains(got[0].Error, want) {
						t.Errorf("%q does not say %q", got[0].Error, want)
					}
				}
				if tt.argv != nil && !strings.Contains(got[0].Error, host) {
					t.Errorf("%q does not name the host", got[0].Error)
				}
				c.expect("was not started")
			})
		}
	})
}

func TestALaunchFileThatIsNotThereStartsNothing(t *testing.T) {
	t.Parallel()
	var stderr strings.Builder
	if got := Run([]string{t.TempDir() + "/launch"}, IO{Stderr: &stderr}); got != exitCannotRun {
		t.Errorf("exit code %d: %s", got, stderr.String())
	}
	if got := Run(nil, IO{Stderr: &stderr}); got != exitUsage {
		t.Errorf("exit code %d without arguments", got)
	}
}

func TestWithoutATerminalTheProviderRunsToo(t *testing.T) {
	bothWays(t, func(t *testing.T, launchOf launcher) {
		l := launchOf(t, t.TempDir(), "", "cat; exit 6")
		cmd := wrapperCommand(t, l)
		cmd.Stdin = strings.NewReader("through a pipe")
		out, err := cmd.Output()
		if cmd.ProcessState.ExitCode() != 6 || string(out) != "through a pipe" {
			t.Errorf("%q, %v", out, err)
		}
	})
}

func TestAProgramIsFoundLikeAShellFindsIt(t *testing.T) {
	t.Parallel()
	a, b := t.TempDir(), t.TempDir()
	if err := errors.Join(os.WriteFile(a+"/tool", nil, 0o600), os.WriteFile(b+"/tool", nil, 0o700), os.Mkdir(a+"/dir", 0o700)); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, cwd, path, want string
		err                   error
	}{
		{"tool", "/", a + ":" + b, b + "/tool", nil},
		{"tool", "/", a, a + "/tool", fs.ErrPermission},
		{"tool", b, ".:", "tool", fs.ErrNotExist},
		{"./tool", b, "", b + "/tool", nil},
		{b + "/tool", "/", "", b + "/tool", nil},
		{"dir", "/", a, a + "/dir", fs.ErrPermission},
	} {
		got, err := findProgram(tt.name, tt.cwd, tt.path)
		if got != tt.want || !errors.Is(err, tt.err) {
			t.Errorf("%s in %q: got %s, %v; want %s, %v", tt.name, tt.path, got, err, tt.want, tt.err)
		}
	}
}
