package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"svc"
	"svc/workspace"
)

const (
	cloneFiles      = 5_000
	largeFiles      = 100_000
	workspaceTurns  = 7
	checkpointTurns = 21
)

// workspaces compares working copies with git itself, in turns: the preparation of a clone from a warm mirror with
// "git clone --local", and a checkpoint after one changed file with "git status" of the same folder.
func workspaces(ctx context.Context, r *report) (err error) {
	dir, err := os.MkdirTemp("", "svc-bench-work-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	g := gitBench{dir: dir, host: workspace.Host{Dir: filepath.Join(dir, "data")}}
	origin, err := g.origin(ctx, "small", cloneFiles)
	if err != nil {
		return err
	}
	if err := g.clones(ctx, r, origin); err != nil {
		return err
	}
	status, checkpoint, err := g.checkpoints(ctx, origin)
	if err != nil {
		return err
	}
	r.atMost("checkpoint of 5,000 files to git status", ms(checkpoint.time)/ms(status.time), 2, "×")
	r.info("checkpoint of 5,000 files", "%s ms", figure(ms(checkpoint.time)))
	r.info("processor time of that checkpoint, relative to git status", "%s×", figure(ms(checkpoint.cpu)/ms(status.cpu)))

	if origin, err = g.origin(ctx, "large", largeFiles); err != nil {
		return err
	}
	if status, checkpoint, err = g.checkpoints(ctx, origin); err != nil {
		return err
	}
	r.info("checkpoint of 100,000 files to git status", "%s×", figure(ms(checkpoint.time)/ms(status.time)))
	wait := svc.CheckpointInterval(time.Minute, checkpoint.time)
	r.atMost("share of the time that checkpoints of 100,000 files take", 100*ms(checkpoint.time)/ms(checkpoint.time+wait), 5, " %")
	return nil
}

// gitBench is a host with working copies and the repositories from which they are made.
type gitBench struct {
	dir  string
	host workspace.Host
}

// git runs plain git, without the settings of the user and the system.
func (g gitBench) git(ctx context.Context, dir string, args ...string) error {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null",
		"GIT_AUTHOR_NAME=bench", "GIT_AUTHOR_EMAIL=b@x", "GIT_COMMITTER_NAME=bench", "GIT_COMMITTER_EMAIL=b@x")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("git %s: %w: %s", args[0], err, out)
	}
	return nil
}

// origin makes a repository with files of about a kilobyte, a hundred in each folder.
func (g gitBench) origin(ctx context.Context, name string, files int) (string, error) {
	dir := filepath.Join(g.dir, name)
	for i := range files {
		path := filepath.Join(dir, fmt.Sprintf("d%04d", i/100), fmt.Sprintf("f%02d.go", i%100))
		if i%100 == 0 {
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				return "", err
			}
		}
		if err := os.WriteFile(path, fmt.Appendf(nil, "package f // %d\n%01000d\n", i, i), 0o644); err != nil {
			return "", err
		}
	}
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "-A"}, {"commit", "-q", "-m", "files"}, {"repack", "-q", "-a", "-d"}} {
		if err := g.git(ctx, dir, args...); err != nil {
			return "", err
		}
	}
	return dir, nil
}

// prepare makes a working copy of a repository.
func (g gitBench) prepare(ctx context.Context, origin string) (workspace.Record, error) {
	id := svc.NewWorkspaceID()
	return g.host.Prepare(ctx, workspace.Order{
		ID: id, Branch: svc.WorkspaceBranch("bench", id), Source: svc.Source{Repo: origin}.OrDefaults(),
	})
}

// clones compares preparations with clones of the mirror by git itself.
func (g gitBench) clones(ctx context.Context, r *report, origin string) error {
	if _, err := g.prepare(ctx, origin); err != nil { // makes the mirror
		return err
	}
	mirrors, err := filepath.Glob(filepath.Join(g.host.Dir, "mirrors", "small-*[0-9a-f]"))
	if err != nil {
		return err
	}
	if len(mirrors) != 1 {
		return fmt.Errorf("found the mirrors %v, want one", mirrors)
	}
	var ours, plain []time.Duration
	for i := range workspaceTurns {
		began := time.Now()
		if err := g.git(ctx, g.dir, "clone", "-q", "--local", mirrors[0], fmt.Sprintf("plain-%d", i)); err != nil {
			return err
		}
		plain = append(plain, time.Since(began))
		began = time.Now()
		record, err := g.prepare(ctx, origin)
		if err != nil {
			return err
		}
		ours = append(ours, time.Since(began))
		if err := g.host.Remove(ctx, record.ID, workspace.Parting{}); err != nil {
			return err
		}
	}
	r.atMost("preparing a clone of 5,000 files to git clone --local", ms(median(ours))/ms(median(plain)), 1.5, "×")
	r.info("preparing a clone of 5,000 files", "%s ms", figure(ms(median(ours))))
	return nil
}

// turnCost is the duration and processor time of something: the medians of several turns.
type turnCost struct{ time, cpu time.Duration }

// measure measures one turn, including the processes that it starts.
func measure(do func() error) (t turnCost, err error) {
	before, err := ownUsage()
	if err != nil {
		return t, err
	}
	began := time.Now()
	if err := do(); err != nil {
		return t, err
	}
	t.time = time.Since(began)
	after, err := ownUsage()
	t.cpu = after - before
	return t, err
}

func medianCost(turns []turnCost) turnCost {
	var times, cpus []time.Duration
	for _, t := range turns {
		times, cpus = append(times, t.time), append(cpus, t.cpu)
	}
	return turnCost{median(times), median(cpus)}
}

// checkpoints changes one file at a time and compares a checkpoint with a git status after it.
func (g gitBench) checkpoints(ctx context.Context, origin string) (status, checkpoint turnCost, err error) {
	record, err := g.prepare(ctx, origin)
	if err != nil {
		return turnCost{}, turnCost{}, err
	}
	// As long as a file and the index have a time in the same second, git reads the file again. The first checkpoint of a
	// run is made later than that.
	if err := rest(ctx, 2*time.Second); err != nil {
		return turnCost{}, turnCost{}, err
	}
	var ours, plain []turnCost
	for i := range checkpointTurns + 1 {
		if err := os.WriteFile(filepath.Join(record.Path, "d0007", "f07.go"), fmt.Appendf(nil, "change %d\n", i), 0o644); err != nil {
			return turnCost{}, turnCost{}, err
		}
		seen, err := measure(func() error { return g.git(ctx, record.Path, "status", "--porcelain") })
		if err != nil {
			return turnCost{}, turnCost{}, err
		}
		kept, err := measure(func() error {
			_, made, err := g.host.Checkpoint(ctx, record.ID)
			if err == nil && !made {
				err = errors.New("the checkpoint has found no change")
			}
			return err
		})
		if err != nil {
			return turnCost{}, turnCost{}, err
		}
		if i > 0 { // in the first turn, each of the two writes its index again
			plain, ours = append(plain, seen), append(ours, kept)
		}
	}
	return medianCost(plain), medianCost(ours), nil
}
