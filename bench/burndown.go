package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"svc"
	"svc/internal/pgtest"
	"svc/wire"
)

const (
	burnRuns    = 4000
	burnTurns   = 3
	burnWorkers = 64
	burnCallers = 64
)

// burnDown measures the time from the first admission of a no-op run to the last end in the journal. In turns with
// it, River executes as many no-op jobs on the same disk and database engine with the same settings.
func burnDown(ctx context.Context, r *report) error {
	rates, err := burnInTurns(r,
		burner{"svc", func() (burned, error) { return burnRunsOnce(ctx, "") }},
		burner{"River", func() (burned, error) { return burnRiverOnce(ctx, burnRuns) }})
	if err != nil {
		return err
	}
	r.info("SQLite, svc no-op runs/s, four durable events each", "%s", figure(rates[0]))
	r.info("SQLite, River no-op jobs/s", "%s", figure(rates[1]))
	r.atLeast("SQLite, svc to River", rates[0]/rates[1], 1, "×")
	return nil
}

// burnDownPostgres is burnDown on one PostgreSQL server, with a database for each side. Runs are admitted one by one,
// as requests are. River's jobs are inserted in bulk, and also one by one by as many callers.
func burnDownPostgres(ctx context.Context, r *report) error {
	on := func(burn func(dsn string) (burned, error)) func() (burned, error) {
		return func() (b burned, err error) {
			t := &holder{}
			defer t.release()
			var dsn string
			if err := t.try(func() { dsn = pgtest.Start(t) }); err != nil {
				return b, err
			}
			return burn(dsn)
		}
	}
	river := func(callers int) func() (burned, error) {
		return on(func(dsn string) (burned, error) { return burnRiverOnPostgres(ctx, dsn, burnRuns, callers) })
	}
	rates, err := burnInTurns(r,
		burner{"svc", on(func(dsn string) (burned, error) { return burnRunsOnce(ctx, dsn) })},
		burner{"River one by one", river(burnCallers)}, burner{"River in bulk", river(inBulk)})
	if err != nil {
		return err
	}
	r.info("PostgreSQL, svc no-op runs/s, four durable events each", "%s", figure(rates[0]))
	r.info("PostgreSQL, River no-op jobs/s, inserted one by one", "%s", figure(rates[1]))
	r.info("PostgreSQL, River no-op jobs/s, inserted in bulk", "%s", figure(rates[2]))
	r.atLeast("PostgreSQL, svc to River one by one", rates[0]/rates[1], 0.5, "×")
	r.info("PostgreSQL, svc to River in bulk", "%s×", figure(rates[0]/rates[2]))
	return nil
}

// burner is one of the compared systems.
type burner struct {
	name string
	burn func() (burned, error)
}

// burned is the duration of a burn-down and the processor time of the database server during it.
type burned struct{ took, server time.Duration }

// burnInTurns measures all sides in turns and returns the median rate of each.
func burnInTurns(r *report, sides ...burner) (medians []float64, err error) {
	rates := make([][]float64, len(sides))
	for range burnTurns {
		for i, s := range sides {
			own := cpuTime()
			b, err := s.burn()
			if err != nil {
				return nil, fmt.Errorf("%s: %w", s.name, err)
			}
			rate := burnRuns / b.took.Seconds()
			rates[i] = append(rates[i], rate)
			r.note("%s: %s/s with %s ms CPU each, and %s ms CPU of the database server", s.name, figure(rate),
				figure(ms(cpuTime()-own)/burnRuns), figure(ms(b.server)/burnRuns))
		}
	}
	for _, list := range rates {
		medians = append(medians, median(list))
	}
	return medians, nil
}

// burnRunsOnce measures the time from the first admission until the journal has the end of every run. An empty dsn
// means SQLite.
func burnRunsOnce(ctx context.Context, dsn string) (b burned, err error) {
	g, err := newOwnRigOn(ctx, dsn)
	if err != nil {
		return b, err
	}
	defer func() { err = errors.Join(err, g.close()) }()
	task, err := g.task(ctx)
	if err != nil {
		return b, err
	}
	if err := g.provision(ctx, burnWorkers); err != nil {
		return b, err
	}
	c, err := startChild(ctx, "noop-workers")
	if err != nil {
		return b, err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	var up struct{ Workers int }
	if err := c.order(noopOrder{URL: g.url, Workers: burnWorkers}, &up); err != nil {
		return b, err
	}
	head, _, err := g.store.JournalEnds(ctx)
	if err != nil {
		return b, err
	}
	began, server := time.Now(), cpuOfServer(dsn)
	var group errgroup.Group
	group.Go(func() error {
		return parallel(burnCallers, burnRuns, func(int) error {
			_, err := g.engine.CreateRun(ctx, svc.NewRun{TaskID: task.ID, Provider: "provider_a"})
			return err
		})
	})
	group.Go(func() error { return g.untilFinished(ctx, head, burnRuns) })
	if err := group.Wait(); err != nil {
		return b, err
	}
	b = burned{time.Since(began), cpuOfServer(dsn) - server}
	return b, g.checkBurned(ctx, head)
}

// untilFinished follows the journal from seq until it has the ends of n runs.
func (g *rig) untilFinished(ctx context.Context, seq int64, n int) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	tail, err := g.engine.Subscribe(ctx, &seq, svc.EventFilter{Topics: svc.Globs{string(svc.TopicRunFinished)}})
	if err != nil {
		return err
	}
	for n > 0 {
		messages, err := tail.Next(ctx)
		if err != nil {
			return fmt.Errorf("%d runs have not ended: %w", n, err)
		}
		n -= bytes.Count(messages, []byte("\n\n"))
	}
	return nil
}

// checkBurned returns an error if the journal does not have all four events of every run.
func (g *rig) checkBurned(ctx context.Context, seq int64) error {
	seen := map[svc.Topic]int{}
	for {
		events, err := g.store.EventsAfter(ctx, seq, 1000)
		if err != nil {
			return err
		}
		if len(events) == 0 {
			break
		}
		for _, e := range events {
			seen[e.Topic]++
			seq = e.Seq
		}
	}
	for _, t := range []svc.Topic{svc.TopicRunCreated, svc.TopicRunSpawning, svc.TopicRunStarted, svc.TopicRunFinished} {
		if seen[t] != burnRuns {
			return fmt.Errorf("the journal has %d of %s, want %d", seen[t], t, burnRuns)
		}
	}
	return nil
}

// noopOrder starts workers that end every run at once.
type noopOrder struct {
	URL     string
	Workers int
}

// noopWorkers is the child process with the workers.
func noopWorkers(ctx context.Context, p pipe) error {
	var o noopOrder
	if err := p.ask(&o); err != nil {
		return err
	}
	workers := make([]*fakeWorker, o.Workers)
	err := parallel(16, o.Workers, func(i int) error {
		workers[i] = newFakeWorker(o.URL, fmt.Sprintf("host-%d", i), http.DefaultClient)
		if err := workers[i].connect(ctx); err != nil {
			return err
		}
		return workers[i].ready(ctx)
	})
	if err != nil {
		return err
	}
	for _, w := range workers {
		go w.endEach(ctx, func(*wire.RunDispatch) {})
	}
	if err := p.tell(struct{ Workers int }{o.Workers}); err != nil {
		return err
	}
	return p.ask(&o) // returns when the parent is done
}

// cpuTime returns the processor time of this process and of its children that have ended.
func cpuTime() time.Duration {
	var sum time.Duration
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var u syscall.Rusage
		if syscall.Getrusage(who, &u) == nil {
			sum += time.Duration(u.Utime.Nano() + u.Stime.Nano())
		}
	}
	return sum
}
