package wrapper

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"svc"
	"svc/internal/needtest"
	"svc/internal/waittest"
	"svc/rundir"
	"svc/wire"
)

// orchestrator accepts signals like the real one, and records them.
type orchestrator struct {
	*httptest.Server
	mu     sync.Mutex // guards the rest
	got    []svc.Signal
	answer int    // status; 0: 200
	body   string // of an answer that is not 200
}

func newOrchestrator(t *testing.T) *orchestrator {
	t.Helper()
	o := &orchestrator{}
	o.Server = httptest.NewServer(http.HandlerFunc(o.take))
	t.Cleanup(o.Close)
	return o
}

func (o *orchestrator) take(w http.ResponseWriter, r *http.Request) {
	o.mu.Lock()
	defer o.mu.Unlock()
	body, _ := io.ReadAll(r.Body)
	runID, ok := strings.CutPrefix(r.URL.Path, "/api/internal/runs/")
	runID, tail, _ := strings.Cut(runID, "/")
	s, err := wire.ParseSignal(runID, body)
	switch {
	case r.Header.Get("Authorization") != "Bearer run-token":
		w.WriteHeader(http.StatusUnauthorized)
	case !ok || tail != "signals" || r.Method != http.MethodPost:
		w.WriteHeader(http.StatusNotFound)
	case err != nil:
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"error":{"code":"validation_failed","message":"`+err.Error()+`"}}`)
	case o.answer != 0:
		w.WriteHeader(o.answer)
		_, _ = io.WriteString(w, o.body)
	default:
		o.got = append(o.got, s)
		_, _ = io.WriteString(w, `{"outcome":"applied"}`)
	}
}

func (o *orchestrator) signals() []svc.Signal {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.got)
}

// refuseWith answers with a status and without the orchestrator's envelope, like a proxy.
func (o *orchestrator) refuseWith(status int) { o.answerWith(status, "") }

func (o *orchestrator) answerWith(status int, body string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.answer, o.body = status, body
}

func kinds(signals []svc.Signal) (kinds []string) {
	for _, s := range signals {
		kinds = append(kinds, string(s.Kind))
	}
	return kinds
}

// spooled returns the kinds of the waiting signals.
func spooled(t *testing.T, d rundir.Dir) (kinds []string) {
	t.Helper()
	entries, bad, err := d.Pending()
	if err != nil || len(bad) > 0 {
		t.Fatalf("pending: %v, bad %q", err, bad)
	}
	for _, e := range entries {
		kinds = append(kinds, string(e.Kind()))
	}
	return kinds
}

// launchOf makes an attempt whose provider is a shell script. apiURL may be empty.
func launchOf(t *testing.T, dataDir, apiURL, script string) rundir.Launch {
	t.Helper()
	d, err := rundir.Open(dataDir)
	if err != nil {
		t.Fatal(err)
	}
	a := d.Attempt(svc.NewRunID(), 1)
	if err := a.Create(); err != nil {
		t.Fatal(err)
	}
	return rundir.Launch{
		RunID: a.RunID, TaskID: svc.NewID(), Attempt: 1, Provider: "provider_b",
		Argv: []string{"/bin/sh", "-c", script}, Env: []string{"PATH=/usr/bin:/bin"}, Cwd: "/",
		APIURL: apiURL, SignalToken: "run-token", DataDir: dataDir,
	}
}

// launcher is launchOf, or the same with a contained session.
type launcher func(t *testing.T, dataDir, apiURL, script string) rundir.Launch

// bothWays runs a test with a session that is not contained, and with a contained one.
func bothWays(t *testing.T, test func(*testing.T, launcher)) {
	t.Helper()
	t.Parallel()
	t.Run("as it is", func(t *testing.T) {
		t.Parallel()
		test(t, launchOf)
	})
	t.Run("contained", func(t *testing.T) {
		t.Parallel()
		test(t, containedLaunch)
	})
}

func containedLaunch(t *testing.T, dataDir, apiURL, script string) rundir.Launch {
	t.Helper()
	bwrap := needtest.Program(t, "bwrap")
	if out, err := exec.Command(bwrap, "--dev-bind", "/", "/", "--unshare-pid", "--proc", "/proc", "true").CombinedOutput(); err != nil {
		t.Skipf("sessions cannot be contained here, the kernel does not let this user make namespaces: %v %s", err, out)
	}
	l := launchOf(t, dataDir, apiURL, script)
	l.Contain = &rundir.Contain{
		Bwrap: bwrap, Inside: []string{os.Args[0], "exec", "inside"}, Hide: []string{dataDir}, Show: []string{l.AttemptFolder().SessionPath()},
	}
	return l
}

// console is a wrapper process on a terminal of its own.
type console struct {
	t    *testing.T
	tty  *os.File
	cmd  *exec.Cmd
	done chan struct{} // closed when the terminal's output was read to its end
	mu   sync.Mutex    // guards text
	text bytes.Buffer
}

func wrapperCommand(t *testing.T, l rundir.Launch) *exec.Cmd {
	t.Helper()
	a := l.AttemptFolder()
	if err := a.WriteLaunch(l); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], a.LaunchPath())
	cmd.Env = []string{"WRAPPER_TEST_RUN=1", "TERM=tmux-256color", "TMUX=/x,1,0", "GOCOVERDIR=" + os.Getenv("GOCOVERDIR")}
	return cmd
}

func start(t *testing.T, l rundir.Launch) *console {
	t.Helper()
	c := startUnread(t, l)
	go c.read()
	return c
}

// startUnread starts a wrapper whose terminal nobody reads. The caller must call read.
func startUnread(t *testing.T, l rundir.Launch) *console {
	t.Helper()
	c := &console{t: t, cmd: wrapperCommand(t, l), done: make(chan struct{})}
	tty, err := pty.StartWithSize(c.cmd, &pty.Winsize{Rows: 50, Cols: 220})
	if err != nil {
		t.Fatal(err)
	}
	c.tty = pollable(t, tty)
	t.Cleanup(func() {
		if w, err := l.AttemptFolder().ReadWrapper(); err == nil && w.Child != nil && t.Failed() {
			_ = syscall.Kill(-w.Child.PID, syscall.SIGKILL)
		}
		_ = c.cmd.Process.Kill() // gone already, unless the test failed
		_ = c.cmd.Wait()
		_ = c.tty.Close()
		<-c.done
	})
	return c
}

// pollable returns a file whose Close ends a waiting Read: only then is the terminal hung up.
func pollable(t *testing.T, f *os.File) *os.File {
	t.Helper()
	fd, err := unix.Dup(int(f.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	unix.CloseOnExec(fd)
	if err := errors.Join(unix.SetNonblock(fd, true), f.Close()); err != nil {
		t.Fatal(err)
	}
	return os.NewFile(uintptr(fd), "terminal")
}

// resize changes the window's size.
func (c *console) resize(rows, cols uint16) {
	c.t.Helper()
	raw, err := c.tty.SyscallConn()
	if err == nil {
		var failed error
		err = raw.Control(func(fd uintptr) {
			failed = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Row: rows, Col: cols})
		})
		err = errors.Join(err, failed)
	}
	if err != nil {
		c.t.Fatal(err)
	}
}

func (c *console) read() {
	defer close(c.done)
	buf := make([]byte, 4096)
	for {
		n, err := c.tty.Read(buf)
		c.mu.Lock()
		c.text.Write(buf[:n])
		c.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (c *console) screen() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.text.String()
}

func (c *console) expect(text string) {
	c.t.Helper()
	eventually(c.t, func() bool { return strings.Contains(c.screen(), text) }, func() string {
		return "no " + text + " on the screen:\n" + c.screen()
	})
}

func (c *console) typed(keys string) {
	c.t.Helper()
	if _, err := c.tty.WriteString(keys); err != nil {
		c.t.Fatal(err)
	}
}

// exit waits for the wrapper's end and returns its code.
func (c *console) exit() int {
	c.t.Helper()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = c.cmd.Wait()
	}()
	select {
	case <-ended:
	case <-time.After(waittest.Patience):
		_ = c.cmd.Process.Kill()
		<-ended
		c.t.Fatalf("the wrapper did not end; screen:\n%s", c.screen())
	}
	return c.cmd.ProcessState.ExitCode()
}

func eventually(t *testing.T, ok func() bool, complain func() string) {
	t.Helper()
	if !waittest.Within(waittest.Patience, ok) {
		t.Fatal(complain())
	}
}

func wantExit(t *testing.T, l rundir.Launch, code int, reason string) {
	t.Helper()
	got, err := l.AttemptFolder().ReadExit()
	if err != nil || got.Code != code || got.Reason != reason {
		t.Errorf("exit record %+v, %v; want code %d, reason %q", got, err, code, reason)
	}
}
