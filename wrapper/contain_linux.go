package wrapper

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"svc/process"
	"svc/rundir"
)

// box is a contained provider.
type box struct {
	bwrap    child // its process; never in the foreground
	terminal bool
	first    int // the first process of the namespace
	provider int // 0: it was not found; both pids are those of the wrapper's namespace
	conn     *os.File
	reports  *json.Decoder
	gone     chan syscall.WaitStatus
}

// startContained starts bubblewrap and the provider in it.
func (r *runner) startContained() (agent, *failure) {
	self, err := os.Executable()
	if err != nil {
		return nil, r.cannot(exitCannotRun, "it cannot be contained: %v", err)
	}
	ours, theirs, err := socketPair()
	if err != nil {
		return nil, r.cannot(exitCannotRun, "it cannot be contained: %v", err)
	}
	complaints, stderr, err := os.Pipe()
	if err != nil {
		return nil, r.cannot(exitCannotRun, "it cannot be contained: %v", err)
	}
	defer complaints.Close()
	// The kernel kills bubblewrap when the thread that started it ends. A locked thread lives as long as the wrapper.
	runtime.LockOSThread()
	c := *r.launch.Contain
	pid, err := syscall.ForkExec(c.Bwrap, append([]string{"bwrap"}, bwrapArgs(c, self, "/")...), &syscall.ProcAttr{
		// Bubblewrap runs outside and gets nothing of the run's environment but the mark by which leftovers are found.
		Env:   []string{"PATH=/usr/bin:/bin", "SVC_RUN_ID=" + r.launch.RunID, "SVC_ATTEMPT=" + strconv.Itoa(r.launch.Attempt)},
		Files: []uintptr{0, 1, stderr.Fd(), theirs.Fd(), 2},
		Sys:   &syscall.SysProcAttr{Setpgid: true},
	})
	_, _ = stderr.Close(), theirs.Close()
	if err != nil {
		_ = ours.Close()
		return nil, r.cannot(exitCannotRun, "it cannot be contained: %s: %v", c.Bwrap, err)
	}
	b := &box{
		bwrap: child{pid: pid}, terminal: term.IsTerminal(0), conn: ours, reports: readReports(ours),
		gone: make(chan syscall.WaitStatus, 1),
	}
	var report insideReport
	err = json.NewEncoder(ours).Encode(insideOrder{Launch: r.launch, Env: r.env, Step: int64(r.patience.hangup)})
	if err == nil {
		err = b.reports.Decode(&report)
	}
	if err != nil || report.Failure != nil {
		b.end()
		if report.Failure != nil {
			return nil, report.Failure
		}
		said, _ := io.ReadAll(io.LimitReader(complaints, 2<<10)) // bubblewrap has ended, so this does not block
		return nil, r.cannot(exitCannotRun, "it cannot be contained: %s", complaint(string(said), err))
	}
	b.find(report.PID)
	_ = json.NewEncoder(ours).Encode(struct{}{}) // only now may the first process reap the provider
	return b, nil
}

// runContained runs a command contained like the session, with additional folders to show. Bubblewrap itself
// runs outside and gets the command's environment only as data.
func (r *runner) runContained(cmd *exec.Cmd, show []string) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("it cannot be contained: %w", err)
	}
	fd, err := unix.MemfdCreate("environment", unix.MFD_CLOEXEC)
	if err != nil {
		return fmt.Errorf("it cannot be contained: %w", err)
	}
	environment := os.NewFile(uintptr(fd), "environment")
	defer environment.Close()
	var b strings.Builder
	for _, variable := range cmd.Env {
		if name, value, ok := strings.Cut(variable, "="); ok && name != "" {
			fmt.Fprintf(&b, "--setenv\x00%s\x00%s\x00", name, value)
		}
	}
	if _, err = environment.WriteString(b.String()); err == nil {
		_, err = environment.Seek(0, io.SeekStart)
	}
	if err != nil {
		return fmt.Errorf("it cannot be contained: %w", err)
	}
	c := *r.launch.Contain
	c.Show = append(slices.Clone(c.Show), show...)
	c.Inside = cmd.Args
	// The kernel kills bubblewrap when the thread that started it ends. A locked thread lives as long as the wrapper.
	runtime.LockOSThread()
	cmd.ExtraFiles = []*os.File{environment} // file 3
	cmd.Path, cmd.Args = c.Bwrap, append([]string{"bwrap", "--args", "3"}, bwrapArgs(c, self, cmd.Dir)...)
	cmd.Env = []string{"PATH=/usr/bin:/bin", "SVC_RUN_ID=" + r.launch.RunID, "SVC_ATTEMPT=" + strconv.Itoa(r.launch.Attempt)}
	cmd.Dir = "/"
	return cmd.Run()
}

// complaint returns bubblewrap's error output, or err if there is none.
func complaint(said string, err error) string {
	if said = strings.TrimSpace(said); said != "" {
		return said
	}
	return err.Error()
}

func socketPair() (ours, theirs *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("socketpair: %w", err)
	}
	return os.NewFile(uintptr(fds[0]), "inside"), os.NewFile(uintptr(fds[1]), "outside"), nil
}

// find finds the pids of the namespace's first process and of the provider in the wrapper's namespace.
func (b *box) find(provider int) {
	for _, first := range process.Children(b.bwrap.pid) {
		b.first = first.PID
		for _, p := range process.Children(first.PID) {
			if process.InnerPID(p.PID) == provider {
				b.provider = p.PID
			}
		}
	}
}

// process returns the provider's pid. If that is unknown it returns bubblewrap's, whose group also has the
// first process.
func (b *box) process() int {
	if b.provider == 0 {
		return b.bwrap.pid
	}
	return b.provider
}

// root returns the process above all processes of the session; 0: it has ended, and with it all of them.
func (b *box) root() int { return b.first }

// wait passes signals on until the first process has reported the provider's end, or has ended itself.
func (b *box) wait(caught <-chan os.Signal, _ time.Duration) rundir.Exit {
	ignoreTTOU()
	told := make(chan insideReport, 1)
	go func() {
		var report insideReport
		_ = b.reports.Decode(&report) // stays empty when the first process has ended without a report
		told <- report
	}()
	ended := make(chan syscall.WaitStatus, 1)
	go b.bwrap.collect(ended)
	hungUp := false
	for {
		select {
		case report := <-told:
			go func() { b.gone <- <-ended }()
			if report.Exit != nil {
				return b.exit(*report.Exit)
			}
			status := <-b.gone
			b.gone <- status
			b.first = 0
			return b.exit(exitOf(status, hungUp))
		case s := <-caught:
			sig, ok := s.(syscall.Signal)
			if !ok || sig == syscall.SIGWINCH || b.first == 0 {
				continue // the kernel sends SIGWINCH to the provider itself
			}
			hungUp = hungUp || sig == syscall.SIGHUP
			_ = unix.Kill(b.first, sig)
		}
	}
}

func (b *box) exit(e rundir.Exit) rundir.Exit {
	(&child{terminal: b.terminal}).takeTerminal()
	return e
}

// close ends the rest of the session: the first process exits when its connection is closed.
func (b *box) close() {
	_ = b.conn.Close()
	<-b.gone
}

// end ends a box whose provider was not started.
func (b *box) end() {
	_ = b.conn.Close()
	var status syscall.WaitStatus
	for {
		if _, err := syscall.Wait4(b.bwrap.pid, &status, 0, nil); !errors.Is(err, syscall.EINTR) {
			return
		}
	}
}

// Inside is "svc exec inside", the first process of a contained session's namespace. Its additional files are a
// connection to the wrapper and the session's standard error. It exits when the wrapper closes the connection.
func Inside(_ []string, std IO) int {
	caught := catchSignals()
	unix.CloseOnExec(insideConn)
	_ = unix.Dup3(insideStderr, 2, 0)
	_ = unix.Close(insideStderr)
	// No process of the session may trace this one: it could then send reports in its name.
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	conn := os.NewFile(insideConn, "wrapper")
	reports, orders := json.NewEncoder(conn), json.NewDecoder(conn)
	var order insideOrder
	if err := orders.Decode(&order); err != nil {
		fmt.Fprintf(std.Stderr, "svc exec inside: this command is not for people: %v\n", err)
		return exitUsage
	}
	r := newRunner(order.Launch, IO{Stderr: std.Stderr, Env: order.Env})
	provider, failed := r.startHere()
	if failed != nil {
		_ = reports.Encode(insideReport{Failure: failed})
		return failed.Code
	}
	_ = reports.Encode(insideReport{PID: provider.pid})
	_ = orders.Decode(&struct{}{}) // the provider must not be reaped before the wrapper has found its pid
	exit := provider.wait(caught, time.Duration(order.Step))
	_ = reports.Encode(insideReport{Exit: &exit})
	_, _ = io.Copy(io.Discard, conn) // blocks until the wrapper has ended the leftovers
	return exit.Code
}
