package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"svc"
	"svc/process"
	"svc/tmux"
)

// liveSite is an orchestrator with a worker, in a process of its own, that runs real sessions.
type liveSite struct {
	*rig
	dir    string
	worker *child
	task   svc.WorkItem
	remove func()
}

func newLiveSite(ctx context.Context) (_ *liveSite, err error) {
	s := &liveSite{}
	// Below /tmp, because the path of a socket must be short.
	if s.dir, err = os.MkdirTemp("/tmp", "svcb"); err != nil {
		return nil, err
	}
	s.remove = func() { _ = os.RemoveAll(s.dir) }
	if s.rig, err = newRig(ctx, s.dir, "127.0.0.1:0"); err != nil {
		s.remove()
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.end(context.WithoutCancel(ctx)))
		}
	}()
	if err = s.provision(ctx, 1); err != nil {
		return nil, err
	}
	if s.task, err = s.rig.task(ctx); err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	if err = os.MkdirAll(filepath.Join(s.dir, "w", "rt"), 0o700); err != nil {
		return nil, err
	}
	if err = os.WriteFile(filepath.Join(s.dir, "w", "providers.toml"), []byte(liveCatalog(self)), 0o600); err != nil {
		return nil, err
	}
	if s.worker, err = startChild(ctx, "live-worker"); err != nil {
		return nil, err
	}
	if err = s.mode("hint"); err != nil {
		return nil, err
	}
	return s, s.ready(ctx)
}

// ready waits until the worker has reported that its provider is available.
func (s *liveSite) ready(ctx context.Context) error {
	deadline := time.Now().Add(time.Minute)
	for {
		h, err := s.engine.Host(ctx, "host-0")
		if err != nil {
			return err
		}
		if h.Providers["bench"].Available {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("the worker does not report its provider: %+v", h)
		}
		if err := rest(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
}

// mode sets how the worker captures screens.
func (s *liveSite) mode(mode string) error {
	return s.worker.order(liveOrder{URL: s.url, Dir: filepath.Join(s.dir, "w"), Mode: mode}, &liveUsage{})
}

// used returns the processor time of the worker, of its children and of every tmux server.
func (s *liveSite) used(ctx context.Context) (time.Duration, error) {
	var u liveUsage
	if err := s.worker.order(liveOrder{}, &u); err != nil {
		return 0, err
	}
	servers, _, err := tmuxUsage(ctx, filepath.Join(s.dir, "w"))
	return u.CPU + servers, err
}

// start creates a run for each argument list and waits until all of them run.
func (s *liveSite) start(ctx context.Context, argss ...[]string) (ids []string, err error) {
	for _, args := range argss {
		r, err := s.engine.CreateRun(ctx, svc.NewRun{TaskID: s.task.ID, Provider: "bench", Args: args, Cwd: s.dir})
		if err != nil {
			return nil, err
		}
		ids = append(ids, r.ID)
	}
	return ids, s.await(ctx, ids)
}

// await waits until all of the runs run.
func (s *liveSite) await(ctx context.Context, ids []string) error {
	deadline := time.Now().Add(3 * time.Minute)
	for _, id := range ids {
		for {
			r, err := s.engine.Run(ctx, id)
			if err != nil {
				return err
			}
			if r.Status == svc.RunRunning {
				break
			}
			if !r.Status.Active() || time.Now().After(deadline) {
				return s.failure(r)
			}
			if err := rest(ctx, 20*time.Millisecond); err != nil {
				return err
			}
		}
	}
	return nil
}

// failure returns an error with the reason why a run did not start, or ended.
func (s *liveSite) failure(r svc.Run) error {
	code := 0
	if r.ExitCode != nil {
		code = *r.ExitCode
	}
	wrote, _ := os.ReadFile(filepath.Join(s.dir, "w", "runs", r.ID+".log")) // the file need not exist
	return fmt.Errorf("run %s is %s, exit code %d, and wrote %.300q", r.ID, r.Status, code, wrote)
}

// end ends everything, including the sessions.
func (s *liveSite) end(ctx context.Context) error {
	var errs []error
	if s.worker != nil {
		errs = append(errs, s.worker.close())
	}
	sockets, err := filepath.Glob(filepath.Join(s.dir, "w", "rt", "*"))
	errs = append(errs, err, parallel(8, len(sockets), func(i int) error {
		return tmux.Server{Socket: sockets[i]}.Kill(ctx, process.ID{})
	}), s.close())
	s.remove()
	return errors.Join(errs...)
}

// rest waits for a duration or the end of the context.
func rest(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
