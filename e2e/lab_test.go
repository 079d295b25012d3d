package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"svc/internal/textbuffer"
	"svc/internal/waittest"
)

// await polls a condition until it is true, returns an error, or waittest.Patience has passed.
func await(is func() (bool, error)) error {
	deadline := time.NewTimer(waittest.Patience)
	defer deadline.Stop()
	look := time.NewTicker(100 * time.Millisecond) // the condition may start a program
	defer look.Stop()
	for {
		ok, err := is()
		if ok || err != nil {
			return err
		}
		select {
		case <-deadline.C:
			return errors.New("timed out")
		case <-look.C:
		}
	}
}

// noSleep is for programs that are built with the race detector. Without it,
// each of them sleeps for a second before it exits.
const noSleep = "GORACE=atexit_sleep_ms=0"

// lab is a folder with its own data directory and home. close ends all
// processes and sessions that were started in it.
type lab struct {
	dir     string
	runtime string // folder of the sockets, whose paths must be short
	running []*process
}

func newLab(dir string) *lab { return &lab{dir: dir} }

func (l *lab) prepare() error {
	return os.MkdirAll(filepath.Join(l.dir, "home"), 0o700)
}

func (l *lab) vars() []string {
	var err error
	if l.runtime, err = os.MkdirTemp("/tmp", "svc-e2e"); err != nil {
		panic(err)
	}
	return []string{
		"HOME=" + filepath.Join(l.dir, "home"), "SVC_DATA_DIR=" + filepath.Join(l.dir, "data"), "XDG_RUNTIME_DIR=" + l.runtime,
		"SVC_BIND=127.0.0.1", "LANG=C.UTF-8", noSleep,
	}
}

func (l *lab) close() {
	for i := len(l.running) - 1; i >= 0; i-- {
		_ = l.running[i].end(syscall.SIGINT)
	}
	_ = l.endSessions() // a process that remains makes the removal of the directory fail
	_ = os.RemoveAll(l.runtime)
}

// endSessions ends all sessions and all processes in them.
func (l *lab) endSessions() error {
	sockets, _ := filepath.Glob(filepath.Join(l.runtime, "*", "*")) // the pattern is well formed
	for _, socket := range sockets {
		ctx, cancel := context.WithTimeout(context.Background(), waittest.Patience)
		_ = exec.CommandContext(ctx, "tmux", "-S", socket, "kill-server").Run() // it may have ended by itself
		cancel()
	}
	return await(l.killRemaining)
}

// lose kills a worker and all of its sessions, as a power failure does.
func (l *lab) lose(verb string) (*process, error) {
	p, err := l.end(verb, func(p *process) error {
		_ = p.end(os.Kill) // the error is expected: the process was killed
		return nil
	})
	if err != nil {
		return p, err
	}
	return p, l.endSessions()
}

// killRemaining kills the wrappers of sessions, which would otherwise wait for a
// worker to return, and the programs in them. It reports whether none was left.
// They are recognised by their launch file, or by the attempt's folder in their
// environment.
func (l *lab) killRemaining() (bool, error) {
	out, err := exec.Command("ps", "-axo", "pid=,args=").Output()
	if err != nil {
		return false, err
	}
	gone := true
	for line := range strings.Lines(string(out)) {
		pid, args, _ := strings.Cut(strings.TrimSpace(line), " ")
		inSession := strings.Contains(args, " exec run ") || strings.Contains(args, " exec sink ")
		environ, _ := os.ReadFile("/proc/" + pid + "/environ") // it may have ended, or the system has no such file
		// The slash is needed: another lab's folder may have this name as a prefix.
		if !(inSession && strings.Contains(args, l.dir+"/")) && !bytes.Contains(environ, []byte("SVC_RUN_DIR="+l.dir+"/")) {
			continue
		}
		gone = false
		if n, err := strconv.Atoi(pid); err == nil {
			_ = syscall.Kill(n, syscall.SIGKILL) // it may have ended just now
		}
	}
	return gone, nil
}

// process is an svc process that the test started in the background.
type process struct {
	verb   string
	cmd    *exec.Cmd
	url    string // of the API; empty for a worker
	stdout *textbuffer.Buffer
	stderr *textbuffer.Buffer
	ended  chan struct{}
	err    error // of Wait; valid after ended is closed
}

var (
	listening = regexp.MustCompile(`listening.* address=(\S+)`)
	screened  = regexp.MustCompile(`listening on (http://\S+)`)
)

// start runs svc VERB and waits until it is ready.
func (l *lab) start(env []string, verb string, args ...string) (*process, error) {
	return l.startIn(l.dir, env, verb, args...)
}

// startIn is start with a given working directory.
func (l *lab) startIn(dir string, env []string, verb string, args ...string) (*process, error) {
	flags := []string{verb}
	if verb != "worker" && !strings.Contains(strings.Join(env, " "), "SVC_PORT=") {
		flags = append(flags, "--port", "0")
	}
	cmd := exec.Command("svc", append(flags, args...)...)
	cmd.Dir = dir
	return l.run(env, verb, cmd)
}

// run is start with a given command.
func (l *lab) run(env []string, verb string, cmd *exec.Cmd) (*process, error) {
	p := &process{verb: verb, cmd: cmd, stdout: &textbuffer.Buffer{}, stderr: &textbuffer.Buffer{}, ended: make(chan struct{})}
	p.cmd.Env = env
	if cmd.Dir == "" {
		cmd.Dir = l.dir
	}
	p.cmd.Stdout, p.cmd.Stderr = p.stdout, p.stderr
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	l.running = append(l.running, p)
	go func() {
		p.err = p.cmd.Wait()
		close(p.ended)
	}()
	err := await(func() (bool, error) {
		select {
		case <-p.ended:
			return false, fmt.Errorf("svc %s ended: %w\n%s", verb, p.err, p.stderr)
		default:
		}
		return p.ready(), nil
	})
	if err != nil {
		return p, fmt.Errorf("svc %s: %w\n%s%s", verb, err, p.stdout, p.stderr)
	}
	return p, nil
}

func (p *process) ready() bool {
	switch p.verb {
	case "serve":
		if m := listening.FindStringSubmatch(p.stderr.String()); m != nil {
			p.url = "http://" + m[1]
		}
		return p.url != ""
	case "up":
		if m := screened.FindStringSubmatch(p.stdout.String()); m != nil {
			p.url = m[1]
		}
		return strings.Contains(p.stdout.String(), "next ")
	default:
		return strings.Contains(p.stderr.String(), "uplink open") || strings.Contains(p.stderr.String(), "known by another key")
	}
}

// end sends a signal and waits until the process has ended.
func (p *process) end(s os.Signal) error {
	_ = p.cmd.Process.Signal(s) // it may have ended already
	return p.wait()
}

// wait waits until the process has ended, and returns its error. It kills the
// process after waittest.Patience.
func (p *process) wait() error {
	select {
	case <-p.ended:
		return p.err
	case <-time.After(waittest.Patience):
		_ = p.cmd.Process.Kill()
		<-p.ended
		return fmt.Errorf("svc %s did not end\n%s", p.verb, p.stderr)
	}
}

func (l *lab) interrupt(verb string) (*process, error) {
	return l.end(verb, func(p *process) error { return p.end(os.Interrupt) })
}

// awaitEnd waits until a process has ended by itself.
func (l *lab) awaitEnd(verb string) (*process, error) { return l.end(verb, (*process).wait) }

func (l *lab) end(verb string, by func(*process) error) (*process, error) {
	for i, p := range l.running {
		if p.verb == verb {
			l.running = append(l.running[:i:i], l.running[i+1:]...)
			return p, by(p)
		}
	}
	return nil, fmt.Errorf("no %s runs", verb)
}
