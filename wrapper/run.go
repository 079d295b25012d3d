package wrapper

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"svc"
	"svc/leftover"
	"svc/process"
	"svc/rundir"
)

// Run is "svc exec run LAUNCHFILE". It starts the launch file's command on this process's own terminal (files
// 0, 1 and 2) and returns the provider's exit code: 128 plus the number of the signal that ended it, 127 or 126
// when it could not be started.
func Run(args []string, std IO) int {
	if len(args) != 1 {
		fmt.Fprintln(std.Stderr, "usage: svc exec run LAUNCHFILE")
		return exitUsage
	}
	caught := catchSignals()
	launch, err := rundir.TakeLaunch(args[0])
	if err != nil {
		if !rundir.LaunchRevoked(args[0]) { // after a revocation, the log belongs to another session
			fmt.Fprintf(std.Stderr, "svc: nothing was started: %v\r\n", err)
		}
		return exitCannotRun
	}
	adoptNetwork(launch.Env)
	return newRunner(launch, std).run(caught)
}

// catchSignals catches the signals that are passed on. It is called before the launch file is taken: from then
// on the wrapper must live to record the end. The signals are caught and not ignored, since the provider would
// inherit an ignored signal.
func catchSignals() <-chan os.Signal {
	caught := make(chan os.Signal, 16)
	signal.Notify(caught, passedOn...)
	signal.Notify(make(chan os.Signal, 1), jobControl...)
	return caught
}

// patience has the wrapper's time limits.
type patience struct {
	hangup time.Duration // of each step in ending a provider whose terminal is gone
	worker time.Duration // of the wait for a worker, before the wrapper posts the end itself
}

var defaultPatience = patience{hangup: 5 * time.Second, worker: 10 * time.Second}

// runner is one attempt, from its launch file to its end.
type runner struct {
	launch   rundir.Launch
	attempt  rundir.Attempt
	poster   *poster
	stderr   io.Writer
	env      []string // of the wrapper
	patience patience
	now      func() time.Time
}

func newRunner(l rundir.Launch, std IO) *runner {
	a := l.AttemptFolder()
	return &runner{
		launch: l, attempt: a, poster: newPoster(a.Dir, l.APIURL, l.SignalToken),
		stderr: std.Stderr, env: std.Env, patience: defaultPatience, now: time.Now,
	}
}

// run runs an attempt from its preparation to the report of its end.
func (r *runner) run(caught <-chan os.Signal) int {
	_ = leftover.Adopt() // if it fails, leftovers are found by other marks
	r.warn(r.attempt.Create())
	r.warn(r.attempt.WriteWrapper(rundir.Wrapper{Wrapper: process.Self(), At: r.time()}))
	var started <-chan struct{}
	var failed *failure
	if r.launch.Workspace != nil {
		started = r.reportStarted(os.Getpid()) // before the preparation, so that people can watch it
		failed = r.prepareWorkspace(caught)
	}
	var agent agent
	if failed == nil {
		agent, failed = r.start()
	}
	if failed != nil {
		fmt.Fprintf(r.stderr, "svc: %s\r\n", failed.Message)
		exit := rundir.Exit{Code: failed.Code, Error: failed.Message, At: r.time()}
		r.warn(r.attempt.WriteExit(exit))
		return r.report(exit, started)
	}
	child, _ := process.Of(agent.process()) // its start time is 0 if it has ended already
	r.warn(r.attempt.WriteWrapper(rundir.Wrapper{Wrapper: process.Self(), Child: &child, At: r.time()}))
	if r.launch.Workspace == nil {
		started = r.reportStarted(agent.process())
	}
	exit := agent.wait(caught, r.patience.hangup)
	exit.At = r.time()
	if r.lostConversation(exit) {
		exit.Error = svc.ConversationGone
	}
	r.warn(r.attempt.WriteExit(exit))
	r.reap(agent.root())
	agent.close()
	r.noteConversation()
	return r.report(exit, started)
}

// reportStarted puts started into the spool and, without a worker, posts it in the background. The returned
// channel is closed when the post has ended; nil means that there is no post.
func (r *runner) reportStarted(pid int) <-chan struct{} {
	entry, err := r.attempt.Put(svc.Signal{
		RunID: r.launch.RunID, Attempt: r.launch.Attempt, Kind: svc.SignalStarted, Source: svc.FromWrapper,
		PID: &pid, Timestamp: r.time(),
	}, r.launch.SignalToken)
	if err != nil {
		r.warn(err)
		return nil
	}
	if r.attempt.Dir.WorkerAlive() {
		return nil
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = r.poster.deliver(context.Background(), entry) // after a failure it stays in the spool
	}()
	return done
}

// report puts the report of the end into the spool and, without a worker, posts it. It is called when no
// process of the attempt lives any more, and after the exit record was written.
func (r *runner) report(exit rundir.Exit, started <-chan struct{}) int {
	_, err := r.attempt.Put(r.attempt.Signal(exit), r.launch.SignalToken)
	r.warn(err)
	if started != nil {
		<-started // bounded by the post's own limit
	}
	if !r.workerWithin(r.patience.worker) {
		_ = r.poster.flush(context.Background(), r.attempt, all) // after a failure they stay in the spool
	}
	r.settle()
	return exit.Code
}

// reap ends the processes that outlived the provider, below root.
func (r *runner) reap(root int) {
	if r.launch.Reap == nil || root == 0 {
		return
	}
	self := process.Self()
	search := leftover.Search{Root: root, Keep: r.launch.Reap.Keep}
	if session, err := unix.Getsid(0); root == self.PID && err == nil && session == self.PID {
		search.Leader = self
	}
	var ended []rundir.Leftover
	left, err := search.End(context.Background(), r.launch.Reap.Grace, func(p leftover.Process, sig syscall.Signal) {
		ended = append(ended, rundir.Leftover{PID: p.PID, Command: p.Command, Signal: unix.SignalName(sig)})
	})
	r.warn(err)
	for _, p := range left {
		ended = append(ended, rundir.Leftover{PID: p.PID, Command: p.Command})
	}
	if len(ended) > 0 {
		r.warn(r.attempt.WriteLeftovers(ended))
	}
}

// The terminal is held open until the log has not grown for settleQuiet, at most for settleMost.
const (
	settleQuiet = 200 * time.Millisecond
	settleMost  = 5 * time.Second
)

// settle keeps the terminal open until the log has stopped growing. The last bytes of a program may still be in
// the terminal when it exits, and tmux drops what it has not read when the last holder closes it. Without this
// wait the end of a large output is sometimes missing.
func (r *runner) settle() {
	if !term.IsTerminal(1) {
		return
	}
	path := r.attempt.Dir.LogPath(r.launch.RunID)
	look := time.NewTicker(settleQuiet / 10)
	defer look.Stop()
	size, since, begun := int64(-1), time.Now(), time.Now()
	for time.Since(since) < settleQuiet && time.Since(begun) < settleMost {
		if info, err := os.Stat(path); err == nil && info.Size() != size {
			size, since = info.Size(), time.Now()
		}
		<-look.C
	}
}

// workerWithin waits for a worker that will deliver the end. It returns false when there is none within the
// limit.
func (r *runner) workerWithin(limit time.Duration) bool {
	timeout := time.NewTimer(limit)
	defer timeout.Stop()
	look := time.NewTicker(100 * time.Millisecond)
	defer look.Stop()
	for !r.attempt.Dir.WorkerAlive() {
		select {
		case <-timeout.C:
			return false
		case <-look.C:
		}
	}
	return true
}

// warn prints that something could not be recorded. The run goes on, since its work matters more than its
// record.
func (r *runner) warn(err error) {
	switch {
	case err == nil:
	case errors.Is(err, rundir.ErrNoSpace):
		fmt.Fprintf(r.stderr, "svc: the disk with %s is full; the run goes on, its record may have gaps: %v\r\n", r.launch.DataDir, err)
	default:
		fmt.Fprintf(r.stderr, "svc: the run goes on, its record may have gaps: %v\r\n", err)
	}
}

func (r *runner) time() svc.Time { return svc.TimeOf(r.now()) }

// passedOn are the signals that are passed on to the provider. jobControl are the signals that suspend a
// background process of a terminal.
var (
	passedOn   = []os.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGWINCH}
	jobControl = []os.Signal{syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU}
)
