package engine

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"svc"
	"svc/hub"
	"svc/store"
	"svc/store/storetest"
)

// writers are a leader and a standby on one PostgreSQL database.
type writers struct {
	t       *testing.T
	ctx     context.Context
	engines [2]*Engine
	project svc.Project

	mu    sync.Mutex // guards the rest
	items []string
}

func newWriters(t *testing.T, dsn string) *writers {
	t.Helper()
	w := &writers{t: t, ctx: t.Context()}
	for i := range w.engines {
		st, err := store.Open(t.Context(), dsn, store.Options{})
		if err != nil {
			t.Fatal(err)
		}
		log := slog.New(slog.DiscardHandler)
		e, err := New(t.Context(), Config{Store: st, Hub: hub.New(filepath.Join(t.TempDir(), "relay"), log), Log: log, ReplicaID: svc.NewID(), Standby: i == 1,
			DispatchTimeout: 5 * time.Minute, AckTimeout: 15 * time.Second, OfflineAfter: 90 * time.Second, OutputInterval: 5 * time.Second, EventsDays: 30, RelayDays: 30,
			SigningKey: []byte("0123456789abcdef")})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		served := make(chan error, 1)
		go func() { served <- e.Serve(ctx) }()
		t.Cleanup(func() {
			cancel()
			if err := <-served; err != nil {
				t.Error(err)
			}
			if err := st.Close(); err != nil {
				t.Error(err)
			}
		})
		w.engines[i] = e
	}
	var err error
	if w.project, err = w.engines[0].CreateProject(w.ctx, svc.NewProject{Name: "Two"}); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *writers) newItem(title string) svc.NewWorkItem {
	return svc.NewWorkItem{ProjectID: w.project.ID, Kind: svc.KindTask, Title: title}
}

// pick returns one of the existing items.
func (w *writers) pick(random *rand.Rand) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.items[random.IntN(len(w.items))]
}

func (w *writers) add(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.items = append(w.items, id)
}

// increment adds one to the number in an item's description, as a client that reads first and writes only if the
// version is unchanged.
func (w *writers) increment(e *Engine, id string) {
	for {
		item, err := e.WorkItem(w.ctx, id)
		if err != nil {
			w.t.Error(err)
			return
		}
		n, _ := strconv.Atoi(item.Description)
		next := strconv.Itoa(n + 1)
		_, err = e.UpdateWorkItem(w.ctx, id, svc.WorkItemPatch{Description: &next}, &item.Version)
		if err == nil {
			return
		}
		if code := svc.CodeOf(err); code != svc.CodePrecondition && code != svc.CodeUnavailable {
			w.t.Errorf("increment: %v", err)
			return
		}
	}
}

// again repeats a request that returned "try again": on a busy machine PostgreSQL may time out waiting for a lock.
func again(do func() error) error {
	for {
		if err := do(); svc.CodeOf(err) != svc.CodeUnavailable {
			return err
		}
	}
}

// Two orchestrators write at random at the same time. Nothing is lost or duplicated, the journal has no gap, and
// PostgreSQL detects no deadlock.
func TestTwoWritersOnOneDatabaseAgreeWithTheModel(t *testing.T) {
	t.Parallel()
	dsn := storetest.FreshPostgres(t)
	w := newWriters(t, dsn)
	counter, err := w.engines[0].CreateWorkItem(w.ctx, w.newItem("counter"))
	if err != nil {
		t.Fatal(err)
	}
	w.add(counter.ID)
	const hands, steps = 3, 12
	var group sync.WaitGroup
	answers := make([][2]string, hands*steps) // by key, what each engine returned
	runs := make([]int, hands*2)
	for h := range hands * 2 {
		which := h % 2
		e := w.engines[which]
		random := rand.New(rand.NewPCG(uint64(h), 7))
		group.Go(func() {
			for i := range steps {
				key := (h/2)*steps + i // the same key for both engines at the same time
				var made svc.WorkItem
				err := again(func() (err error) {
					made, err = e.CreateWorkItem(WithIdempotency(w.ctx, fmt.Sprintf("key-%d", key), "print"), w.newItem(fmt.Sprintf("item %d", key)))
					return err
				})
				if err != nil {
					t.Errorf("create: %v", err)
					return
				}
				answers[key][which] = made.ID
				w.add(made.ID)
				w.increment(e, counter.ID)
				item, needs := w.pick(random), w.pick(random)
				switch err := again(func() error { return e.AddNeed(w.ctx, item, needs) }); svc.CodeOf(err) {
				case "", svc.CodeNeedCycle, svc.CodeNeedInOwnLine, svc.CodeValidation:
				default:
					t.Errorf("need: %v", err)
				}
				err = again(func() error {
					_, err := e.CreateRun(w.ctx, svc.NewRun{TaskID: made.ID, Provider: "provider_a"})
					return err
				})
				if err != nil {
					t.Errorf("run: %v", err)
				}
				runs[h]++
			}
		})
	}
	group.Wait()
	w.check(counter.ID, answers, runs, hands*2*steps)
	w.checkJournal(dsn)
}

func (w *writers) check(counter string, answers [][2]string, runs []int, increments int) {
	w.t.Helper()
	got, err := w.engines[1].WorkItem(w.ctx, counter)
	if err != nil || got.Description != strconv.Itoa(increments) {
		w.t.Errorf("the counter is %q after %d increments: %v", got.Description, increments, err)
	}
	seen := map[string]bool{}
	for key, a := range answers {
		if a[0] == "" || a[0] != a[1] || seen[a[0]] {
			w.t.Errorf("key %d was answered with %v", key, a)
		}
		seen[a[0]] = true
	}
	total := 0
	for _, n := range runs {
		total += n
	}
	for _, e := range w.engines {
		counts, err := e.CountRuns(w.ctx, svc.RunFilter{})
		if err != nil {
			w.t.Fatal(err)
		}
		if counts.Pending != total {
			w.t.Errorf("%d runs wait, of %d that were made", counts.Pending, total)
		}
	}
}

// checkJournal fails the test if the journal has a gap, or PostgreSQL has detected a deadlock.
func (w *writers) checkJournal(dsn string) {
	w.t.Helper()
	var last int64
	for {
		events, err := w.engines[0].Store.EventsAfter(w.ctx, last, 500)
		if err != nil {
			w.t.Fatal(err)
		}
		if len(events) == 0 {
			break
		}
		for _, ev := range events {
			if ev.Seq != last+1 {
				w.t.Fatalf("event %d follows %d", ev.Seq, last)
			}
			last = ev.Seq
		}
	}
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	var deadlocks int
	if err := db.QueryRowContext(w.ctx, "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()").Scan(&deadlocks); err != nil || deadlocks > 0 {
		w.t.Errorf("PostgreSQL met %d deadlocks: %v", deadlocks, err)
	}
}
