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
	bwrap    child // waited for; never in the foreground
	terminal bool
	first    int // the first process of the namespace
	provider int // 0: it was not found; both as they are numbered here
	conn     *os.File
	reports  *json.Decoder
	gone     chan syscall.WaitStatus
}

// startContained starts bubblewrap, and the provider inside.
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
	// The kernel ends bubblewrap with the thread that has started it: this one lives as long as the wrapper.
	runtime.LockOSThread()
	c := *r.launch.Contain
	pid, err := syscall.ForkExec(c.Bwrap, append([]string{"bwrap"}, bwrapArgs(c, self, "/")...), &syscall.ProcAttr{
		// Nothing of the run's environment: bubblewrap does its work outside. Its mark is for those that look for leftovers.
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
		said, _ := io.ReadAll(io.LimitReader(complaints, 2<<10)) // it has ended
		return nil, r.cannot(exitCannotRun, "it cannot be contained: %s", complaint(string(said), err))
	}
	b.find(report.PID)
	_ = json.NewEncoder(ours).Encode(struct{}{}) // from now on the provider's process may be gone
	return b, nil
}

// runContained runs a command as a contained session is run, with folders to show besides the session's own. Bubblewrap, which does
// its work outside, gets nothing of the command's environment but as data.
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
	// The kernel ends bubblewrap with the thread that has started it: this one lives as long as the wrapper.
	runtime.LockOSThread()
	cmd.ExtraFiles = []*os.File{environment} // file 3
	cmd.Path, cmd.Args = c.Bwrap, append([]string{"bwrap", "--args", "3"}, bwrapArgs(c, self, cmd.Dir)...)
	cmd.Env = []string{"PATH=/usr/bin:/bin", "SVC_RUN_ID=" + r.launch.RunID, "SVC_ATTEMPT=" + strconv.Itoa(r.launch.Attempt)}
	cmd.Dir = "/"
	return cmd.Run()
}

// complaint is what bubblewrap has complained of, else the error.
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

// find sees how the namespace's first process and the provider are numbered here.
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

// process is the provider, or else bubblewrap, whose group has the first process too.
func (b *box) process() int {
	if b.provider == 0 {
		return b.bwrap.pid
	}
	return b.provider
}

// root is the process below which all of the session is; 0: it has ended, and with it all.
func (b *box) root() int { return b.first }

// wait passes signals on until the first process has told how the provider ended, or all of it has.
func (b *box) wait(caught <-chan os.Signal, _ time.Duration) rundir.Exit {
	ignoreTTOU()
	told := make(chan insideReport, 1)
	go func() {
		var report insideReport
		_ = b.reports.Decode(&report) // empty when it has ended without a report
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
				continue // the kernel tells the provider of a change of size
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

// close ends what is left: the first process goes when its connection does.
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

// Inside is "svc exec inside", the first process of a contained session's namespace. It has a connection to the
// wrapper and the session's standard error as further files. It ends when the wrapper closes the connection.
func Inside(_ []string, std IO) int {
	caught := catchSignals()
	unix.CloseOnExec(insideConn)
	_ = unix.Dup3(insideStderr, 2, 0)
	_ = unix.Close(insideStderr)
	// A process of the session must not be able to trace it, and so report in its place.
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	conn := os.NewFile(insideConn, "wrapper")
	reports, orders := json.NewEncoder(conn), json.NewDecoder(conn)
	var order insideOrder
	if err := orders.Decode(&order); err != nil {
		fmt.Fprintf(std.Stderr, "svc exec inside: people do not call this: %v\n", err)
		return exitUsage
	}
	r := newRunner(order.Launch, IO{Stderr: std.Stderr, Env: order.Env})
	provider, failed := r.startHere()
	if failed != nil {
		_ = reports.Encode(insideReport{Failure: failed})
		return failed.Code
	}
	_ = reports.Encode(insideReport{PID: provider.pid})
	_ = orders.Decode(&struct{}{}) // before this it must not be collected
	exit := provider.wait(caught, time.Duration(order.Step))
	_ = reports.Encode(insideReport{Exit: &exit})
	_, _ = io.Copy(io.Discard, conn) // until the wrapper has ended what is left
	return exit.Code
}
