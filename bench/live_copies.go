package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"svc"
)

const (
	copyRuns  = 20
	copyTurns = 8
	copyEvery = 10 * time.Second // six times as often as by default
)

// copies measures the time from a key press to the echo of the program while 20 other runs of the same worker change
// files in working copies of 5,000 files. It compares this with and without checkpoints and their relay.
func copies(ctx context.Context, r *report) (err error) {
	s, err := newLiveSite(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.end(context.WithoutCancel(ctx))) }()
	if err := s.startChangers(ctx); err != nil {
		return err
	}
	ids, err := s.start(ctx, []string{"live-echo"})
	if err != nil {
		return err
	}
	var without, with []time.Duration
	for range copyTurns {
		w, err := s.echoBeside(ctx, ids[0], 0)
		if err != nil {
			return err
		}
		c, err := s.echoBeside(ctx, ids[0], copyEvery)
		if err != nil {
			return err
		}
		without, with = append(without, w...), append(with, c...)
		r.note("without p50 %s p99 %s, with p50 %s p99 %s", median(w), percentile(w, 0.99), median(c), percentile(c, 0.99))
	}
	kept, err := s.kept(ctx)
	if err != nil {
		return err
	}
	if kept < copyRuns*copyTurns {
		return fmt.Errorf("only %d checkpoints were relayed", kept)
	}
	r.info("checkpoints relayed meanwhile", "%d", kept)
	r.info("echo beside 20 runs without checkpoints, p50 and p99", "%s and %s ms", figure(ms(median(without))), figure(ms(percentile(without, 0.99))))
	r.info("echo beside 20 runs with checkpoints each 10 s, p50 and p99", "%s and %s ms", figure(ms(median(with))), figure(ms(percentile(with, 0.99))))
	r.atMost("echo p99 with checkpoints, relative to without", ms(percentile(with, 0.99))/ms(percentile(without, 0.99)), 2, "×")
	return nil
}

// startChangers starts the runs that change files, each in a working copy of its own.
func (s *liveSite) startChangers(ctx context.Context) error {
	repo, err := gitBench{dir: s.dir}.origin(ctx, "repo", cloneFiles)
	if err != nil {
		return err
	}
	p, err := s.engine.CreateProject(ctx, svc.NewProject{Name: "Copies", Source: svc.SourcePatch{Repo: &repo}})
	if err != nil {
		return err
	}
	task, err := s.engine.CreateWorkItem(ctx, svc.NewWorkItem{ProjectID: p.ID, Kind: svc.KindTask, Title: "Change files"})
	if err != nil {
		return err
	}
	var ids []string
	for range copyRuns {
		r, err := s.engine.CreateRun(ctx, svc.NewRun{TaskID: task.ID, Provider: "bench", Args: []string{"live-changer"}})
		if err != nil {
			return err
		}
		ids = append(ids, r.ID)
	}
	return s.await(ctx, ids)
}

// echoBeside measures key presses in a run while checkpoints are made at the given interval; 0: none.
func (s *liveSite) echoBeside(ctx context.Context, id string, checkpoints time.Duration) ([]time.Duration, error) {
	o := liveOrder{URL: s.url, Dir: filepath.Join(s.dir, "w"), Mode: "hint", Checkpoints: checkpoints}
	if err := s.worker.order(o, &liveUsage{}); err != nil {
		return nil, err
	}
	if checkpoints == 0 {
		if err := s.settle(ctx); err != nil {
			return nil, err
		}
	}
	keys, err := s.reattach(ctx, id)
	if err != nil {
		return nil, err
	}
	defer keys.close()
	var took []time.Duration
	for i := range 2 * echoKeys {
		one, err := echoOne(ctx, keys, echoChars[i%len(echoChars)])
		if err != nil {
			return nil, err
		}
		took = append(took, one)
		if err := rest(ctx, echoPause); err != nil {
			return nil, err
		}
	}
	return took, nil
}

// reattach attaches to a run as soon as its worker is connected again.
func (s *liveSite) reattach(ctx context.Context, id string) (*socketKeys, error) {
	for deadline := time.Now().Add(time.Minute); ; {
		keys, err := openSocketKeys(ctx, s.url, userToken, id)
		if err == nil || time.Now().After(deadline) {
			return keys, err
		}
		if err := rest(ctx, 100*time.Millisecond); err != nil {
			return nil, err
		}
	}
}

// settle waits until a restarted worker has made its first checkpoint of each copy.
func (s *liveSite) settle(ctx context.Context) error {
	for last, since := -1, time.Now(); time.Since(since) < 4*time.Second; {
		n, err := s.kept(ctx)
		if err != nil {
			return err
		}
		if n != last {
			last, since = n, time.Now()
		}
		if err := rest(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// kept returns the number of checkpoints that the orchestrator has.
func (s *liveSite) kept(ctx context.Context) (n int, err error) {
	page, err := s.engine.Workspaces(ctx, svc.WorkspaceFilter{}, svc.Page{Limit: 2 * copyRuns})
	for _, w := range page.Items {
		n += w.RelayedCheckpoint
	}
	return n, err
}

// liveChanger is a program that changes a file of its folder four times a second.
func liveChanger(context.Context, pipe) error {
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	for i := 0; ; i++ {
		<-tick.C
		name := filepath.Join(fmt.Sprintf("d%04d", i%50), "f07.go")
		if err := os.WriteFile(name, fmt.Appendf(nil, "change %d\n", i), 0o644); err != nil {
			return err
		}
		fmt.Println("changed", name)
	}
}
