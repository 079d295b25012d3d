package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"svc/config"
	"svc/process"
	"svc/tmux"
	"svc/worker"
	"svc/wrapper"
)

// liveOrder configures a worker's process. Without a mode it only requests the processor time used so far.
type liveOrder struct {
	URL, Dir string
	// Mode determines how screens are captured: "hint" as in the product, "none" not at all, "fork" with a capture of
	// every pane each second, while the worker itself captures none.
	Mode string
	// Checkpoints is the interval between checkpoints of working copies; 0: none are made.
	Checkpoints time.Duration
}

// liveUsage is the processor time of a worker's process and of its children that have ended.
type liveUsage struct{ CPU time.Duration }

// liveWorker is a child process that is a whole worker with real sessions. The sessions continue through each change
// of mode, as they do through a restart.
func liveWorker(ctx context.Context, p pipe) error {
	stop := func() error { return nil }
	for {
		var o liveOrder
		if err := p.ask(&o); err != nil {
			return errors.Join(err, stop())
		}
		if o.Mode != "" {
			if err := stop(); err != nil {
				return err
			}
			var err error
			if stop, err = startLiveWorker(ctx, o); err != nil {
				return err
			}
		}
		used, err := ownUsage()
		if err != nil {
			return errors.Join(err, stop())
		}
		if err := p.tell(liveUsage{used}); err != nil {
			return errors.Join(err, stop())
		}
	}
}

func ownUsage() (time.Duration, error) {
	var sum time.Duration
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var r syscall.Rusage
		if err := syscall.Getrusage(who, &r); err != nil {
			return 0, err
		}
		sum += time.Duration(r.Utime.Nano() + r.Stime.Nano())
	}
	return sum, nil
}

func startLiveWorker(ctx context.Context, o liveOrder) (stop func() error, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cfg := &config.Config{DataDir: o.Dir, CatalogPath: filepath.Join(o.Dir, "providers.toml"),
		Worker: config.Worker{HostName: "host-0", ServerURL: o.URL, HeartbeatInterval: 5 * time.Second,
			StopGrace: [2]time.Duration{time.Second, time.Second}, MaxLogBytes: 1 << 30, MaxBundleBytes: 64 << 20, CheckpointEvery: o.Checkpoints}}
	if o.Checkpoints == 0 {
		cfg.Worker.CheckpointEvery = 24 * time.Hour
	}
	snapshots := time.Second
	if o.Mode != "hint" {
		snapshots = 24 * time.Hour
	}
	w, err := worker.New(worker.Options{
		Config: cfg, Token: workerToken, RuntimeDir: filepath.Join(o.Dir, "rt"), Snapshots: snapshots,
		WrapperArgv: []string{self, childArg, "live-wrapper"}, SinkArgv: []string{self, childArg, "live-sink"},
	})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	var tasks sync.WaitGroup
	var ended error
	tasks.Go(func() { ended = w.Run(ctx) })
	if o.Mode == "fork" {
		tasks.Go(func() { forkCaptures(ctx, filepath.Join(o.Dir, "rt")) })
	}
	return func() error {
		cancel()
		tasks.Wait()
		if errors.Is(ended, context.Canceled) {
			ended = nil
		}
		return ended
	}, nil
}

// forkCaptures captures every pane once a second, spread over the second, and hashes the result, as a comparison with
// the one before would.
func forkCaptures(ctx context.Context, dir string) {
	var panes sync.WaitGroup
	defer panes.Wait()
	sockets, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		return
	}
	for i, socket := range sockets {
		panes.Go(func() {
			phase := time.NewTimer(time.Second * time.Duration(i) / time.Duration(len(sockets)))
			defer phase.Stop()
			select {
			case <-phase.C:
			case <-ctx.Done():
				return
			}
			tick := time.NewTicker(time.Second)
			defer tick.Stop()
			var last [sha256.Size]byte
			for ctx.Err() == nil {
				// #nosec G204 -- the sockets are our own
				out, err := exec.CommandContext(ctx, "tmux", "-S", socket, "-f", "/dev/null", "-u", "capture-pane", "-p", "-e", "-N").Output()
				if err == nil {
					last = sha256.Sum256(out)
				}
				_ = last
				select {
				case <-tick.C:
				case <-ctx.Done():
				}
			}
		})
	}
}

// liveWrapper and liveSink are the programs that the product runs inside and beside a session.
func liveWrapper(context.Context, pipe) error {
	os.Exit(wrapper.Run(os.Args[3:], wrapper.IO{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Env: os.Environ()}))
	return nil
}

func liveSink(context.Context, pipe) error { // --max LIMIT FILE STATE TIMES
	limit, err := strconv.ParseInt(os.Args[4], 10, 64)
	if err != nil {
		return err
	}
	times := os.Args[7]
	if _, err := os.Stat(filepath.Join(filepath.Dir(filepath.Dir(times)), recordingOff)); err == nil {
		times = ""
	}
	return wrapper.Sink(os.Stdin, os.Args[5], limit, os.Args[6], times)
}

// tmuxUsage returns the processor time of the tmux servers of all sessions so far, and their number. Each server has
// one thread.
func tmuxUsage(ctx context.Context, dir string) (time.Duration, int, error) {
	sockets, err := filepath.Glob(filepath.Join(dir, "rt", "*"))
	if err != nil {
		return 0, 0, err
	}
	var sum time.Duration
	for _, socket := range sockets {
		found, err := tmux.Server{Socket: socket}.Inspect(ctx, process.ID{})
		if err != nil {
			return 0, 0, err
		}
		ran, err := threadTime(found.Server.PID)
		if err != nil {
			return 0, 0, err
		}
		sum += ran
	}
	return sum, len(sockets), nil
}

func threadTime(pid int) (time.Duration, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/schedstat", pid))
	if err != nil {
		return 0, err
	}
	var ran int64
	if _, err := fmt.Sscan(string(b), &ran); err != nil {
		return 0, err
	}
	return time.Duration(ran), nil
}
