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

// Run is "svc exec run LAUNCHFILE". It starts what the launch file says on this process's own
// terminal (files 0, 1 and 2) and returns the provider's exit code, 128 and the signal's number when
// one ended it, 127 or 126 when it could not be started.
func Run(args []string, std IO) int {
	if len(args) != 1 {
		fmt.Fprintln(std.Stderr, "usage: svc exec run LAUNCHFILE")
		return exitUsage
	}
	caught := catchSignals()
	launch, err := rundir.TakeLaunch(args[0])
	if err != nil {
		if !rundir.LaunchRevoked(args[0]) { // else another session has taken its place, and its log
			fmt.Fprintf(std.Stderr, "svc: nothing was started: %v\r\n", err)
		}
		return exitCannotRun
	}
	adoptNetwork(launch.Env)
	return newRunner(launch, std).run(caught)
}

// catchSignals comes before the launch file is taken: from then on the wrapper must live to record the
// end. The signals are caught, not ignored: what is ignored would be ignored by the provider too.
func catchSignals() <-chan os.Signal {
	caught := make(chan os.Signal, 16)
	signal.Notify(caught, passedOn...)
	signal.Notify(make(chan os.Signal, 1), jobControl...)
	return caught
}

// patience says how long the wrapper waits for others.
type patience struct {
	hangup time.Duration // for each step of ending a provider whose terminal is gone
	worker time.Duration // for a worker to come back before the end is posted without it
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

// run reads like the life of an attempt.
func (r *runner) run(caught <-chan os.Signal) int {
	_ = leftover.Adopt() // where it is not possible, leftovers are found by their other signs
	r.warn(r.attempt.Create())
	r.warn(r.attempt.WriteWrapper(rundir.Wrapper{Wrapper: process.Self(), At: r.time()}))
	var started <-chan struct{}
	var failed *failure
	if r.launch.Workspace != nil {
		started = r.reportStarted(os.Getpid()) // first: the preparation is seen
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
	child, _ := process.Of(agent.process()) // without a start when it has ended already
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

// reportStarted spools started and, without a worker, posts it beside the provider. The channel is
// closed when that is over; nil means that nothing is under way.
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
		_ = r.poster.deliver(context.Background(), entry) // else it is in the spool
	}()
	return done
}

// report puts the end where it is reported from. It comes when nothing of the attempt lives any more, and after
// the end is in the record that decides.
func (r *runner) report(exit rundir.Exit, started <-chan struct{}) int {
	_, err := r.attempt.Put(r.attempt.Signal(exit), r.launch.SignalToken)
	r.warn(err)
	if started != nil {
		<-started // bounded by the post's own limit
	}
	if !r.workerWithin(r.patience.worker) {
		_ = r.poster.flush(context.Background(), r.attempt, all) // else it is in the spool
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

// How long the terminal is held open after the last output.
const (
	settleQuiet = 200 * time.Millisecond
	settleMost  = 5 * time.Second
)

// settle keeps the terminal open until the log has stopped growing. The last bytes of a program may
// still be on their way through the terminal when it exits, and tmux drops what it has not read when
// the last holder closes it: without this the end of a flood is missing now and then.
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

// workerWithin waits for a worker, to whom delivering the end is left.
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

// warn tells what could not be recorded. The run goes on: the work counts more than its record.
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

// passedOn are the signals that are meant for the provider, jobControl those that a background
// process of a terminal is stopped with.
var (
	passedOn   = []os.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGWINCH}
	jobControl = []os.Signal{syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU}
)
