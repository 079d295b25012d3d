package proctest

import (
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"svc/internal/waittest"
)

// Process is a long-lived command of the binary. After its end it may be started again.
type Process struct {
	lab     *Lab
	name    string
	within  []string // the command that starts it; empty: it is started directly
	args    []string
	env     []string
	logPath string
	cmd     *exec.Cmd // nil: not running
	ended   chan error
}

// Setenv adds a variable to the environment of the process, from its next start on.
func (p *Process) Setenv(name, value string) { p.env = append(p.env, name+"="+value) }

func (l *Lab) process(name string, env []string, args ...string) *Process {
	return &Process{lab: l, name: name, args: args, env: l.environ(env...), logPath: l.Path("log", name+".log")}
}

// Launch starts the process without waiting. Its output is appended to its log.
func (p *Process) Launch() {
	p.lab.TB.Helper()
	if p.cmd != nil {
		p.lab.TB.Fatalf("%s runs already", p.name)
	}
	file, err := os.OpenFile(p.logPath, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		p.lab.TB.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	argv := append(append(slices.Clone(p.within), Binary(p.lab.TB)), p.args...)
	cmd := exec.Command(argv[0], argv[1:]...) //nolint:noctx // it is ended by Kill, Stop or the lab
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = p.env, p.lab.Dir, file, file
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // so that Ctrl-C at the test's terminal does not end it
	if err := cmd.Start(); err != nil {
		p.lab.TB.Fatalf("start %s: %v", p.name, err)
	}
	p.cmd, p.ended = cmd, make(chan error, 1)
	go func(ended chan<- error) { ended <- cmd.Wait() }(p.ended)
}

// Within makes another program start the process. It gets the command after its own arguments, and changes the
// environment of the process, as unshare does. It must end when the process ends, and the process must end with it.
func (p *Process) Within(argv ...string) { p.within = argv }

// Name returns the name of the process for messages.
func (p *Process) Name() string { return p.name }

// PID returns the id of the running process.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Running reports whether the process was started and not ended by Kill, Stop, Wait or Ended.
func (p *Process) Running() bool { return p.cmd != nil }

// Kill ends the process like a crash, with SIGKILL, and waits until it has ended.
func (p *Process) Kill() {
	p.lab.TB.Helper()
	_ = p.end(syscall.SIGKILL)
}

// Stop ends the process with SIGTERM. The test fails if the process does not end, or its exit code is not 0.
func (p *Process) Stop() {
	p.lab.TB.Helper()
	if err := p.end(syscall.SIGTERM); err != nil {
		p.lab.TB.Errorf("%s ended with %v", p.name, err)
	}
}

// Signal sends a signal without waiting.
func (p *Process) Signal(sig syscall.Signal) {
	p.lab.TB.Helper()
	if err := p.cmd.Process.Signal(sig); err != nil {
		p.lab.TB.Errorf("signal %s: %v", p.name, err)
	}
}

func (p *Process) end(sig syscall.Signal) error {
	p.lab.TB.Helper()
	if p.cmd == nil {
		p.lab.TB.Fatalf("%s does not run", p.name)
	}
	if err := p.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		p.lab.TB.Fatalf("end %s: %v", p.name, err)
	}
	return p.Wait(waittest.Patience)
}

// Wait waits for the process to end; the error has its exit code.
func (p *Process) Wait(limit time.Duration) error {
	p.lab.TB.Helper()
	timeout := time.NewTimer(limit)
	defer timeout.Stop()
	select {
	case err := <-p.ended:
		p.cmd = nil
		return err
	case <-timeout.C:
		p.lab.TB.Fatalf("%s does not end", p.name)
		return nil
	}
}

// Ended reports whether the process has ended by itself, and with which error. It may then be started again.
func (p *Process) Ended() (err error, ended bool) {
	if p.cmd == nil {
		return nil, false
	}
	select {
	case err = <-p.ended:
		p.cmd = nil
		return err, true
	default:
		return nil, false
	}
}

// Log returns all output of the process so far, of all its starts.
func (p *Process) Log() string {
	text, err := os.ReadFile(p.logPath)
	if err != nil {
		p.lab.TB.Fatal(err)
	}
	return string(text)
}

// logTail logs the end of the process's log when the test has failed.
func (p *Process) logTail() {
	if p.lab.TB.Failed() || testing.Testing() && testing.Verbose() && os.Getenv("SVC_TEST_LOGS") != "" {
		lines := strings.Split(p.Log(), "\n")
		p.lab.TB.Logf("the end of the log of %s:\n%s", p.name, strings.Join(lines[max(0, len(lines)-60):], "\n"))
	}
}
