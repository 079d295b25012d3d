package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"svc"
	"svc/engine"
	"svc/hub"
	"svc/server"
	"svc/store"
)

const (
	userToken   = "bench-user-0123456789abcdef0123456789"
	workerToken = "bench-worker-0123456789abcdef01234567"
	signingKey  = "bench-signing-0123456789abcdef0123456"
)

// rig is a whole orchestrator with the product's wiring, which listens on loopback.
type rig struct {
	store  *store.Store
	hub    *hub.Hub
	engine *engine.Engine
	url    string
	stop   context.CancelFunc
	ended  chan error

	dir    string // the rig's own folder; empty: the caller owns the folder
	remove func()
}

// newOwnRig starts an orchestrator in a folder of its own, which close removes.
func newOwnRig(ctx context.Context) (*rig, error) { return newOwnRigOn(ctx, "") }

// newOwnRigOn is newOwnRig on the database dsn. Empty: a SQLite database in the folder.
func newOwnRigOn(ctx context.Context, dsn string) (*rig, error) {
	dir, remove, err := tempDir()
	if err != nil {
		return nil, err
	}
	if dsn == "" {
		dsn = "sqlite:" + filepath.Join(dir, "svc.db")
	}
	g, err := newRigOn(ctx, dsn, dir, "127.0.0.1:0")
	if err != nil {
		remove()
		return nil, err
	}
	g.dir, g.remove = dir, remove
	return g, nil
}

// newRig starts an orchestrator on the SQLite database in dir. addr may be
// 127.0.0.1:0.
func newRig(ctx context.Context, dir, addr string) (*rig, error) {
	return newRigOn(ctx, "sqlite:"+filepath.Join(dir, "svc.db"), dir, addr)
}

// newRigOn starts an orchestrator as the only one of the database.
func newRigOn(ctx context.Context, dsn, dir, addr string) (_ *rig, err error) {
	log := slog.Default()
	g := &rig{ended: make(chan error, 2)}
	if g.store, err = store.Open(ctx, dsn, store.Options{Log: log, Exclusive: true}); err != nil {
		return nil, err
	}
	g.hub = hub.New(filepath.Join(dir, "relay"), log)
	g.engine, err = engine.New(ctx, engine.Config{
		Store: g.store, Hub: g.hub, Log: log,
		DispatchTimeout: 5 * time.Minute, AckTimeout: 15 * time.Second, OfflineAfter: 90 * time.Second,
		OutputInterval: 5 * time.Second, EventsDays: 30, RelayDays: 30, SigningKey: []byte(signingKey), OwnerTokenHash: svc.SecretHash(userToken),
	})
	if err != nil {
		return nil, errors.Join(err, g.store.Close())
	}
	s, err := server.New(server.Options{
		Engine: g.engine, Logger: log, Version: "bench", Addr: addr,
		Live:        &server.Live{Runs: g.engine.Live(), Log: log},
		WorkerToken: workerToken,
	})
	if err != nil {
		return nil, errors.Join(err, g.store.Close())
	}
	bound, err := s.Listen(ctx)
	if err != nil {
		return nil, errors.Join(err, g.store.Close())
	}
	g.url = "http://" + bound.String()
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	inner, stopInner := context.WithCancel(context.WithoutCancel(ctx))
	g.stop = stop
	go func() { g.ended <- g.engine.Serve(inner) }()
	go func() {
		defer stopInner() // the engine ends after the listeners are closed
		g.ended <- s.Run(serving)
	}()
	return g, nil
}

// close ends the orchestrator and waits for its end.
func (g *rig) close() error {
	g.stop()
	err := errors.Join(<-g.ended, <-g.ended, g.store.Close())
	if g.remove != nil {
		g.remove()
	}
	return err
}

// task makes a project with a task to run.
func (g *rig) task(ctx context.Context) (svc.WorkItem, error) {
	p, err := g.engine.CreateProject(ctx, svc.NewProject{Name: "Bench"})
	if err != nil {
		return svc.WorkItem{}, err
	}
	return g.engine.CreateWorkItem(ctx, svc.NewWorkItem{ProjectID: p.ID, Kind: svc.KindTask, Title: "Nothing to do"})
}

// provision makes n hosts with the names host-0, host-1 and so on.
func (g *rig) provision(ctx context.Context, n int) error {
	return parallel(64, n, func(i int) error {
		_, err := g.engine.CreateHost(ctx, svc.NewHost{Name: fmt.Sprintf("host-%d", i)})
		return err
	})
}

// tempDir makes a folder on the disk that is measured: in TMPDIR, or in the system's folder for temporary files.
func tempDir() (dir string, remove func(), err error) {
	dir, err = os.MkdirTemp("", "svc-bench-")
	return dir, func() { _ = os.RemoveAll(dir) }, err
}

// journal writes n events of about the usual size, plus the padding.
func (g *rig) journal(ctx context.Context, n int, padding string) error {
	const unit = 1000
	for at := 0; at < n; at += unit {
		err := g.store.Write(ctx, func(tx *store.Tx) error {
			for i := at; i < min(at+unit, n); i++ {
				tx.Emit(svc.TopicRunStarted, map[string]any{"run_id": svc.NewRunID(), "attempt": 1, "task_id": svc.NewID(),
					"project_id": svc.NewID(), "status": svc.RunRunning, "host_id": svc.NewID(), "title": padding})
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
