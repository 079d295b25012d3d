package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"svc"
	"svc/store"
)

var errWanted = errors.New("this unit fails on purpose")

func unitIsAtomic(t *testing.T, w *world) {
	p := newProject("half")
	err := w.Write(w.ctx, func(tx *store.Tx) error {
		tx.Emit(svc.TopicProjectCreated, map[string]any{"project_id": p.ID})
		if err := tx.InsertProject(w.ctx, p); err != nil {
			return err
		}
		return errWanted
	})
	if !errors.Is(err, errWanted) {
		t.Fatalf("write answered %v, want the unit's own error", err)
	}
	_, err = w.Project(w.ctx, p.ID)
	w.wantCode("the project of a failed unit", err, svc.CodeNotFound)
	if events := w.journal(); len(events) != 0 {
		t.Errorf("a failed unit journaled %v", events)
	}
	w.write(func(tx *store.Tx) error {
		tx.Emit(svc.TopicProjectCreated, map[string]any{"project_id": p.ID})
		return tx.InsertProject(w.ctx, p)
	})
	if events := w.journal(); len(events) != 1 || events[0].Seq != 1 {
		t.Errorf("the journal after a failed and a good unit is %v, want one event with seq 1", events)
	}
}

func readYourWrites(t *testing.T, w *world) {
	p := newProject("mine")
	w.write(func(tx *store.Tx) error {
		if err := tx.InsertProject(w.ctx, p); err != nil {
			return err
		}
		if _, err := tx.Project(w.ctx, p.ID); err != nil {
			t.Errorf("the unit does not see its own project: %v", err)
		}
		_, err := w.Project(w.ctx, p.ID)
		w.wantCode("a reader before the commit", err, svc.CodeNotFound)
		return nil
	})
	if _, err := w.Project(w.ctx, p.ID); err != nil {
		t.Errorf("a reader after the commit: %v", err)
	}
}

// swallows is the only bad unit that may succeed: SQLite can commit a transaction
// after a failed statement, PostgreSQL cannot.
const swallows = "swallows a broken constraint"

// badUnitsTouchNoOther queues good and bad units behind a unit that blocks the
// writer, so that they are committed together. Only the bad units may fail.
func badUnitsTouchNoOther(t *testing.T, w *world) {
	taken := w.project("taken")
	const each = 12
	var good sync.Map
	bad := []struct {
		name string
		unit func(ctx context.Context, cancel func(), tx *store.Tx) error
	}{
		{swallows, func(ctx context.Context, _ func(), tx *store.Tx) error {
			p := newProject("swallows")
			p.Slug = taken.Slug
			_ = tx.InsertProject(ctx, p)
			return nil
		}},
		{"fails", func(ctx context.Context, _ func(), tx *store.Tx) error {
			return errors.Join(tx.InsertProject(ctx, newProject("fails")), errWanted)
		}},
		{"panics", func(ctx context.Context, _ func(), tx *store.Tx) error {
			_ = tx.InsertProject(ctx, newProject("panics"))
			panic("on purpose")
		}},
		{"breaks a constraint", func(ctx context.Context, _ func(), tx *store.Tx) error {
			p := newProject("breaks")
			p.Slug = taken.Slug
			return tx.InsertProject(ctx, p)
		}},
		{"emits what cannot be encoded", func(ctx context.Context, _ func(), tx *store.Tx) error {
			tx.Emit(svc.TopicProjectCreated, map[string]any{"broken": make(chan int)})
			return tx.InsertProject(ctx, newProject("emits"))
		}},
		{"fails after its caller has gone", func(ctx context.Context, cancel func(), tx *store.Tx) error {
			cancel()
			return errors.Join(tx.InsertProject(ctx, newProject("gone")), errWanted)
		}},
	}
	var ready, done sync.WaitGroup
	release := make(chan struct{})
	done.Go(func() {
		w.must(w.Write(w.ctx, func(*store.Tx) error { <-release; return nil }))
	})
	for i := range each {
		write := w.Write
		if i%2 == 1 {
			write = w.WriteRepeatable // several of these share a savepoint
		}
		for _, b := range bad {
			ready.Add(1)
			done.Go(func() {
				ctx, cancel := context.WithCancel(w.ctx)
				defer cancel()
				ready.Done()
				if err := write(ctx, func(tx *store.Tx) error { return b.unit(ctx, cancel, tx) }); err == nil && b.name != swallows {
					t.Errorf("a unit that %s answered no error", b.name)
				}
			})
		}
		ready.Add(1)
		done.Go(func() {
			p := newProject(fmt.Sprintf("good %d", i))
			ready.Done()
			err := write(w.ctx, func(tx *store.Tx) error {
				tx.Emit(svc.TopicProjectCreated, map[string]any{"project_id": p.ID})
				return tx.InsertProject(w.ctx, p)
			})
			if err != nil {
				t.Errorf("a good unit beside bad ones: %v", err)
			}
			good.Store(p.ID, true)
		})
	}
	ready.Wait()
	close(release)
	done.Wait()
	list, err := w.Projects(w.ctx, svc.Page{Limit: svc.MaxLimit})
	w.must(err)
	for _, p := range list.Items {
		if _, ok := good.Load(p.ID); !ok && p.ID != taken.ID {
			t.Errorf("the project %q of a bad unit was committed", p.Name)
		}
	}
	if len(list.Items) != each+1 {
		t.Errorf("%d projects, want %d", len(list.Items), each+1)
	}
	events := w.journal()
	if len(events) != each {
		t.Errorf("%d events, want one for each of the %d good units", len(events), each)
	}
	for i, e := range events {
		if e.Seq != int64(i)+1 {
			t.Fatalf("event %d has seq %d", i, e.Seq)
		}
	}
}

func answeredAfterCommit(t *testing.T, w *world) {
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for n := range 10 {
				p := newProject(fmt.Sprintf("%d/%d", i, n))
				err := w.Write(w.ctx, func(tx *store.Tx) error {
					tx.Emit(svc.TopicProjectCreated, map[string]any{"project_id": p.ID})
					return tx.InsertProject(w.ctx, p)
				})
				if err != nil {
					t.Errorf("write: %v", err)
					return
				}
				if _, err := w.Project(w.ctx, p.ID); err != nil {
					t.Errorf("a write was answered before it could be read: %v", err)
				}
				found := false
				for _, e := range w.journal() {
					found = found || strings.Contains(string(e.Payload), p.ID)
				}
				if !found {
					t.Errorf("a write was answered before its event could be read")
				}
			}
		})
	}
	wg.Wait()
}

func cancelledWhileQueued(t *testing.T, w *world) {
	holding, release := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		w.must(w.Write(w.ctx, func(*store.Tx) error { close(holding); <-release; return nil }))
	})
	<-holding
	ctx, cancel := context.WithCancel(w.ctx)
	var ran atomic.Int32
	errs := make([]error, 5)
	for i := range errs {
		wg.Go(func() {
			errs[i] = w.Write(ctx, func(*store.Tx) error { ran.Add(1); return nil })
		})
	}
	cancel()
	close(release)
	wg.Wait()
	for _, err := range errs {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("a write whose context ended answered %v", err)
		}
	}
	if n := ran.Load(); n != 0 {
		t.Errorf("%d units ran although their context had ended", n)
	}
	w.project("the writer goes on")
}

func closeWhileQueued(t *testing.T, w *world) {
	holding, release := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		w.must(w.Write(w.ctx, func(*store.Tx) error { close(holding); <-release; return nil }))
	})
	<-holding
	var ran, answered, refused atomic.Int32
	for range 2000 { // more than the queue holds
		wg.Go(func() {
			switch err := w.Write(w.ctx, func(*store.Tx) error { ran.Add(1); return nil }); {
			case err == nil:
				answered.Add(1)
			case svc.CodeOf(err) == svc.CodeUnavailable:
				refused.Add(1)
			default:
				t.Errorf("a write while closing answered %v", err)
			}
		})
	}
	closed := make(chan error, 1)
	go func() { closed <- w.Close() }()
	close(release)
	select {
	case err := <-closed:
		w.must(err)
	case <-time.After(waitLimit):
		t.Fatal("the store does not close")
	}
	wg.Wait()
	if ran.Load() != answered.Load() || ran.Load()+refused.Load() != 2000 {
		t.Errorf("of 2000 units %d ran, %d were answered and %d refused", ran.Load(), answered.Load(), refused.Load())
	}
	w.wantCode("a write after the close", w.Write(w.ctx, func(*store.Tx) error { return nil }), svc.CodeUnavailable)
}

func viewIsOneState(t *testing.T, w *world) {
	w.project("a")
	w.must(w.View(w.ctx, func(r store.Reader) error {
		before, err := r.Projects(w.ctx, svc.Page{Limit: 10})
		if err != nil {
			return err
		}
		w.project("b")
		after, err := r.Projects(w.ctx, svc.Page{Limit: 10})
		if err == nil && len(after.Items) != len(before.Items) {
			t.Errorf("a view saw %d projects, then %d", len(before.Items), len(after.Items))
		}
		return err
	}))
}
