package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivermigrate"
	_ "modernc.org/sqlite" // the driver "sqlite", the same as the product's
)

type noopArgs struct{}

// Kind returns the name of the job.
func (noopArgs) Kind() string { return "noop" }

type noopWorker struct{ river.WorkerDefaults[noopArgs] }

// Work does nothing.
func (noopWorker) Work(context.Context, *river.Job[noopArgs]) error { return nil }

// burnRiverOnce measures River on SQLite. River leaves SQLite's settings to its user, but asks for a single
// connection.
func burnRiverOnce(ctx context.Context, n int) (b burned, err error) {
	dir, remove, err := tempDir()
	if err != nil {
		return b, err
	}
	defer remove()
	db, err := openRiver(ctx, filepath.Join(dir, "river.db"))
	if err != nil {
		return b, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return burnJobs(ctx, riversqlite.New(db), "", n, inBulk)
}

// burnRiverOnPostgres measures River on PostgreSQL, with the driver that River is made for: notifications wake its
// workers.
func burnRiverOnPostgres(ctx context.Context, dsn string, n, callers int) (b burned, err error) {
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return b, err
	}
	config.MaxConns = 20
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return b, err
	}
	defer pool.Close()
	driver := riverpgxv5.New(pool)
	if err := migrateRiver(ctx, driver); err != nil {
		return b, err
	}
	return burnJobs(ctx, driver, dsn, n, callers)
}

// inBulk, in the place of a number of callers, means that one caller inserts jobs a thousand at a time.
const inBulk = 0

// burnJobs measures the time from the first insert until River has reported the completion of every job. Its settings
// are those of River's own benchmark; 2,000 jobs may run at once. Jobs are inserted in bulk, or one by one by a
// number of callers.
func burnJobs[TTx any](ctx context.Context, driver riverdriver.Driver[TTx], dsn string, n, callers int) (b burned, err error) {
	workers := river.NewWorkers()
	river.AddWorker(workers, noopWorker{})
	client, err := river.NewClient(driver, &river.Config{
		FetchCooldown: time.Millisecond, FetchPollInterval: 20 * time.Millisecond, Logger: slog.New(slog.DiscardHandler),
		Queues: map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: 2000}}, Workers: workers,
	})
	if err != nil {
		return b, err
	}
	done, cancel := client.SubscribeConfig(&river.SubscribeConfig{Kinds: []river.EventKind{river.EventKindJobCompleted}, ChanSize: n})
	defer cancel()
	if err := client.Start(ctx); err != nil {
		return b, err
	}
	defer func() { err = errors.Join(err, client.Stop(context.WithoutCancel(ctx))) }()
	began, server := time.Now(), cpuOfServer(dsn)
	inserted := make(chan error, 1)
	go func() { inserted <- insertJobs(ctx, client, n, callers) }()
	deadline := time.After(2 * time.Minute)
	for left := n; left > 0; left-- {
		select {
		case <-done:
		case <-deadline:
			return b, fmt.Errorf("%d jobs were not completed in time", left)
		}
	}
	b = burned{time.Since(began), cpuOfServer(dsn) - server}
	return b, <-inserted
}

func openRiver(ctx context.Context, file string) (*sql.DB, error) {
	q := url.Values{"_pragma": {"busy_timeout(5000)", "journal_mode(WAL)", "synchronous(FULL)", "cache_size(-32000)", "temp_store(2)"}}
	db, err := sql.Open("sqlite", "file:"+file+"?"+q.Encode())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	if err := migrateRiver(ctx, riversqlite.New(db)); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

func migrateRiver[TTx any](ctx context.Context, driver riverdriver.Driver[TTx]) error {
	migrator, err := rivermigrate.New(driver, &rivermigrate.Config{Logger: slog.New(slog.DiscardHandler)})
	if err == nil {
		_, err = migrator.Migrate(ctx, rivermigrate.DirectionUp, nil)
	}
	return err
}

func insertJobs[TTx any](ctx context.Context, client *river.Client[TTx], n, callers int) error {
	if callers != inBulk {
		return parallel(callers, n, func(int) error {
			_, err := client.Insert(ctx, noopArgs{}, nil)
			return err
		})
	}
	const batch = 1000 // InsertManyFast of this version panics without a listener, as on SQLite
	for at := 0; at < n; at += batch {
		jobs := make([]river.InsertManyParams, min(batch, n-at))
		for i := range jobs {
			jobs[i] = river.InsertManyParams{Args: noopArgs{}}
		}
		if _, err := client.InsertMany(ctx, jobs); err != nil {
			return fmt.Errorf("insert jobs: %w", err)
		}
	}
	return nil
}
