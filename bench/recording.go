package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const (
	recordingTurns = 25
	recordingLoud  = 2 * time.Second // duration of the output in each turn
	// recordingOff is the name of a file in a worker's folder. While it exists, sessions start without recording the
	// times of their log.
	recordingOff = "no-times"
)

// recording measures the cost of recording and relaying the times at which the bytes of a log were written. Two runs
// of one worker write 10 MB/s in turns; only one has times. It compares the processor time per byte of the log's
// writer, the worker and the orchestrator. The program and its tmux use the same time in both.
func recording(ctx context.Context, r *report) (err error) {
	s, err := newLiveSite(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.end(context.WithoutCancel(ctx))) }()
	off := filepath.Join(s.dir, "w", recordingOff)
	timed, plain := &writingRun{site: s, loud: filepath.Join(s.dir, "timed")}, &writingRun{site: s, loud: filepath.Join(s.dir, "plain")}
	if err := timed.start(ctx); err != nil {
		return err
	}
	if err := touch(off, true); err != nil {
		return err
	}
	if err := plain.start(ctx); err != nil {
		return err
	}
	var ratios []float64
	for turn := range recordingTurns {
		pair := []*writingRun{timed, plain}
		if turn%2 == 1 {
			slices.Reverse(pair)
		}
		for _, run := range pair {
			if err := run.turn(ctx); err != nil {
				return err
			}
		}
		if turn > 0 { // the first turn is the warm-up
			ratios = append(ratios, timed.last()/plain.last())
		}
		r.note("CPU per MB: with times %s ms, without %s ms", figure(timed.last()), figure(plain.last()))
	}
	if noted, without := timed.times(), plain.times(); noted < 10*recordingTurns || without > 100 {
		return fmt.Errorf("the times of one run have %d bytes, of the other, which should have none, %d", noted, without)
	}
	r.info("CPU for a relayed MB of log without times", "%s ms", figure(median(plain.costs)))
	r.atMost("the same with times", median(ratios), 1.03, "×")
	return nil
}

// writingRun is a run that writes while a file exists.
type writingRun struct {
	site  *liveSite
	loud  string // the file; the run writes while it exists
	id    string
	costs []float64 // ms of CPU per MB, by turn
}

func (l *writingRun) start(ctx context.Context) error {
	ids, err := l.site.start(ctx, []string{"live-flood", l.loud})
	if err == nil {
		l.id = ids[0]
		err = rest(ctx, time.Second) // until its writer runs
	}
	return err
}

func (l *writingRun) last() float64 { return l.costs[len(l.costs)-1] }

func (l *writingRun) file(suffix string) string {
	return filepath.Join(l.site.dir, "w", "runs", l.id+suffix)
}

// times returns the size of the relayed times of the log.
func (l *writingRun) times() int64 {
	info, err := os.Stat(filepath.Join(l.site.dir, "relay", l.id, "1.times"))
	if err != nil {
		return 0
	}
	return info.Size()
}

// turn makes the run write for a while, waits until all is relayed, and stores the cost.
func (l *writingRun) turn(ctx context.Context) error {
	before, size, err := l.used()
	if err != nil {
		return err
	}
	if err := touch(l.loud, true); err != nil {
		return err
	}
	err = rest(ctx, recordingLoud)
	if err = errors.Join(err, touch(l.loud, false)); err != nil {
		return err
	}
	if err := l.relayed(ctx); err != nil {
		return err
	}
	after, now, err := l.used()
	if err == nil {
		l.costs = append(l.costs, ms(after-before)/(float64(now-size)/1e6))
	}
	return err
}

// relayed waits until the orchestrator has the whole log and the log no longer grows.
func (l *writingRun) relayed(ctx context.Context) error {
	for deadline, last := time.Now().Add(time.Minute), int64(-1); ; {
		if err := rest(ctx, 500*time.Millisecond); err != nil {
			return err
		}
		wrote, err := os.Stat(l.file(".log"))
		if err != nil {
			return err
		}
		have, err := l.site.hub.Relay.State(l.id, 1)
		if err != nil {
			return err
		}
		if have.Size == wrote.Size() && have.Size == last {
			return nil
		}
		if last = wrote.Size(); time.Now().After(deadline) {
			return fmt.Errorf("%d of %d bytes are relayed after a minute", have.Size, last)
		}
	}
}

// used returns the processor time of the writer, the worker and this process, and the length of the log.
func (l *writingRun) used() (time.Duration, int64, error) {
	var worker liveUsage
	if err := l.site.worker.order(liveOrder{}, &worker); err != nil {
		return 0, 0, err
	}
	own, err := ownUsage()
	if err != nil {
		return 0, 0, err
	}
	sink, err := sinkUsage(l.file(".log"))
	if err != nil {
		return 0, 0, err
	}
	info, err := os.Stat(l.file(".log"))
	if err != nil {
		return 0, 0, err
	}
	return worker.CPU + own + sink, info.Size(), nil
}

// sinkUsage returns the processor time of the program that writes a log.
func sinkUsage(log string) (sum time.Duration, err error) {
	processes, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return 0, err
	}
	for _, p := range processes {
		words, err := os.ReadFile(filepath.Join(p, "cmdline"))
		if err != nil || !strings.HasPrefix(string(words), mustSelf()+"\x00"+childArg+"\x00live-sink\x00") || !strings.Contains(string(words), log) {
			continue
		}
		threads, err := filepath.Glob(filepath.Join(p, "task", "*", "schedstat"))
		if err != nil {
			return 0, err
		}
		for _, t := range threads {
			b, err := os.ReadFile(t) //nolint:gosec // of /proc
			var ran int64
			if err == nil {
				_, err = fmt.Sscan(string(b), &ran)
			}
			if err != nil {
				return 0, err
			}
			sum += time.Duration(ran)
		}
		return sum, nil
	}
	return 0, fmt.Errorf("no process writes %s", log)
}

// mustSelf returns the path of this program.
func mustSelf() string {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return self
}
