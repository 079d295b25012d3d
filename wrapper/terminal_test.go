package wrapper

import (
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"svc/rundir"
)

// forever keeps a shell running without delaying its traps for long.
const forever = `; echo ready; while :; do sleep 0.02; done`

func TestCtrlCReachesTheProviderAndNotTheWrapper(t *testing.T) {
	bothWays(t, func(t *testing.T, launchOf launcher) {
		l := launchOf(t, t.TempDir(), "", `trap 'echo interrupted; trap - INT; exit 7' INT`+forever)
		c := start(t, l)
		c.expect("ready")
		c.typed("\x03")
		if got := c.exit(); got != 7 {
			t.Errorf("exit code %d", got)
		}
		wantExit(t, l, 7, "")
	})
}

func TestTheProviderIsNotBornDeafToTheKeyboard(t *testing.T) {
	bothWays(t, func(t *testing.T, launchOf launcher) {
		for keys, want := range map[string]int{"\x03": 130, "\x1c": 131} {
			c := start(t, launchOf(t, t.TempDir(), "", "ulimit -c 0"+forever))
			c.expect("ready")
			c.typed(keys)
			if got := c.exit(); got != want {
				t.Errorf("%q: exit code %d, want %d", keys, got, want)
			}
		}
	})
}

func TestWhatIsSentToTheWrapperIsPassedOn(t *testing.T) {
	bothWays(t, func(t *testing.T, launchOf launcher) {
		for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGQUIT} {
			name := strings.TrimPrefix(unix.SignalName(sig), "SIG")
			l := launchOf(t, t.TempDir(), "", `trap 'echo got; exit 9' `+name+forever)
			c := start(t, l)
			c.expect("ready")
			if err := c.cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			if got := c.exit(); got != 9 {
				t.Errorf("%s: exit code %d", name, got)
			}
		}
	})
}

func TestANewSizeReachesTheProviderOnce(t *testing.T) {
	bothWays(t, func(t *testing.T, launchOf launcher) {
		c := start(t, launchOf(t, t.TempDir(), "", `trap 'echo size $(stty size)' WINCH; trap 'echo bye; exit 0' INT`+forever))
		c.expect("ready")
		c.resize(40, 100)
		c.expect("size 40 100")
		if err := c.cmd.Process.Signal(syscall.SIGWINCH); err != nil { // as if the wrapper got the signal too
			t.Fatal(err)
		}
		if err := c.cmd.Process.Signal(syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
		if got := c.exit(); got != 0 {
			t.Errorf("exit code %d", got)
		}
		if got := strings.Count(c.screen(), "size "); got != 1 {
			t.Errorf("reported %d times:\n%s", got, c.screen())
		}
	})
}

// A terminal discards by default what nobody has read yet when Ctrl-C is typed. tmux may be slow or frozen, and what the
// provider printed belongs to its log.
func TestCtrlCLosesNothingThatWasPrinted(t *testing.T) {
	bothWays(t, func(t *testing.T, launchOf launcher) {
		l := launchOf(t, t.TempDir(), "", `trap 'exit 7' INT; i=1; while [ $i -le 1000 ]; do echo "line $i"; i=$((i+1)); done; echo > "$SVC_RUN_DIR/printed"`+strings.Replace(forever, "echo ready; ", "", 1))
		c := startUnread(t, l)
		eventually(t, func() bool {
			_, err := os.Stat(l.AttemptFolder().SessionFile("printed"))
			return err == nil
		}, func() string { return "the provider has not printed all" })
		c.typed("\x03")
		go c.read()
		if got := c.exit(); got != 7 {
			t.Errorf("exit code %d", got)
		}
		c.expect("line 1000\r\n")
		if n := strings.Count(c.screen(), "line "); n != 1000 {
			t.Errorf("%d of 1000 lines were read", n)
		}
	})
}

func TestTheSuspendKeySuspendsNothing(t *testing.T) {
	bothWays(t, func(t *testing.T, launchOf launcher) {
		l := launchOf(t, t.TempDir(), "", `echo ready; until test -e "$SVC_RUN_DIR/go"; do sleep 0.02; done; exit 5`)
		c := start(t, l)
		c.expect("ready")
		c.typed("\x1a")
		c.expect("^Z") // the terminal processed it
		if err := os.WriteFile(l.AttemptFolder().SessionFile("go"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if got := c.exit(); got != 5 {
			t.Errorf("exit code %d", got)
		}
	})
}

func TestAProviderThatSuspendsItselfIsContinued(t *testing.T) {
	bothWays(t, func(t *testing.T, launchOf launcher) {
		for _, sig := range []string{"TSTP", "TTIN", "TTOU"} {
			if got := start(t, launchOf(t, t.TempDir(), "", "kill -"+sig+" $$; kill -"+sig+" $$; exit 5")).exit(); got != 5 {
				t.Errorf("%s: exit code %d", sig, got)
			}
		}
	})
}

func TestStoppedOnPurposeTheProviderStaysStoppedUntilContinued(t *testing.T) {
	bothWays(t, func(t *testing.T, launchOf launcher) {
		l := launchOf(t, t.TempDir(), "", `trap 'exit 5' INT`+forever)
		c := start(t, l)
		c.expect("ready")
		w := childRecord(t, l)
		if err := syscall.Kill(-w.Child.PID, syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		eventually(t, func() bool { return processState(w.Child.PID) == "T" }, func() string { return "it is not stopped" })
		c.typed("\x03") // pending while the provider is suspended
		if err := syscall.Kill(-w.Child.PID, syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
		if got := c.exit(); got != 5 {
			t.Errorf("exit code %d", got)
		}
	})
}

func TestAHangUpEndsTheProviderAndIsRecorded(t *testing.T) {
	bothWays(t, func(t *testing.T, launchOf launcher) {
		for _, tt := range []struct {
			name, script string
			code         int
		}{
			{"one that listens", `trap 'exit 5' HUP`, 5},
			{"one that listens to TERM alone", `trap '' HUP; trap 'exit 6' TERM`, 6},
			{"one that listens to nothing", `trap '' HUP TERM INT`, 137},
		} {
			t.Run(tt.name, func(t *testing.T) {
				t.Parallel()
				o := newOrchestrator(t)
				l := launchOf(t, t.TempDir(), o.URL, tt.script+forever)
				c := start(t, l)
				c.expect("ready")
				w := childRecord(t, l)
				if err := c.tty.Close(); err != nil {
					t.Fatal(err)
				}
				if got := c.exit(); got != tt.code {
					t.Errorf("exit code %d, want %d", got, tt.code)
				}
				wantExit(t, l, tt.code, "session hung up")
				if err := syscall.Kill(-w.Child.PID, 0); !errors.Is(err, syscall.ESRCH) && processState(w.Child.PID) != "" {
					t.Errorf("the provider still lives: %v", err)
				}
				if got := o.signals(); len(got) != 2 || got[1].ExitCode != tt.code {
					t.Errorf("posted %+v", got)
				}
			})
		}
	})
}

// childRecord waits for the wrapper's record of its provider.
func childRecord(t *testing.T, l rundir.Launch) (w rundir.Wrapper) {
	t.Helper()
	eventually(t, func() bool {
		var err error
		w, err = l.AttemptFolder().ReadWrapper()
		return err == nil && w.Child != nil
	}, func() string { return "no record of the provider" })
	return w
}

// processState returns the state letter of ps; empty when there is no such process.
func processState(pid int) string {
	out, err := exec.Command("ps", "-o", "state=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))[:1]
}
