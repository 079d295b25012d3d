package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"svc"
	"svc/store"
)

// OpenShared opens several stores on one empty database.
type OpenShared func(t *testing.T, n int) []*store.Store

// RunShared runs the tests of several stores that are open on one database, for
// engines that allow it.
func RunShared(t *testing.T, open OpenShared) {
	for _, n := range []int{2, 4} {
		t.Run(fmt.Sprintf("tailers see every event of 16 writers over %d stores", n), func(t *testing.T) {
			t.Parallel()
			tailWriters(t, open(t, n), 16, 40)
		})
	}
	t.Run("a signal is taken once over all stores", func(t *testing.T) {
		t.Parallel()
		stores := open(t, 3)
		w := newWorld(t, stores[0])
		run := w.run(w.item(w.project("p"), nil))
		var fresh atomic.Int32
		var wg sync.WaitGroup
		for i := range 30 {
			wg.Go(func() {
				var took bool
				err := stores[i%3].Write(w.ctx, func(tx *store.Tx) (err error) {
					took, err = tx.TakeSignal(w.ctx, svc.Signal{RunID: run.ID, Attempt: 1, Kind: svc.SignalStarted, Source: svc.FromWrapper})
					return err
				})
				if err != nil {
					t.Error(err)
				}
				if took {
					fresh.Add(1)
				}
			})
		}
		wg.Wait()
		if fresh.Load() != 1 {
			t.Errorf("the signal was taken %d times", fresh.Load())
		}
	})
	t.Run("changes of a locked record wait for each other", func(t *testing.T) {
		t.Parallel()
		stores := open(t, 3)
		w := newWorld(t, stores[0])
		run := w.run(w.item(w.project("p"), nil))
		var wg sync.WaitGroup
		for i := range 30 {
			wg.Go(func() {
				err := stores[i%3].Write(w.ctx, func(tx *store.Tx) error {
					r, err := tx.LockRun(w.ctx, run.ID)
					if err != nil {
						return err
					}
					r.LastProgressSeq++
					return tx.UpdateRun(w.ctx, &r)
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if got, err := w.Run(w.ctx, run.ID); err != nil || got.LastProgressSeq != 30 || got.Version != 31 {
			t.Errorf("30 increments gave %d, version %d (%v)", got.LastProgressSeq, got.Version, err)
		}
	})
	t.Run("a caller that leaves while its unit waits for a lock costs no other unit", func(t *testing.T) {
		t.Parallel()
		leaveWhileLocked(t, open(t, 2))
	})
}

// leaveWhileLocked locks a row in one store while a unit of the other store waits
// for it. The context of that unit's caller ends. The other units of its group
// must be committed nevertheless.
func leaveWhileLocked(t *testing.T, stores []*store.Store) {
	w := newWorld(t, stores[0])
	p := w.project("p")
	locked, release := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		w.must(stores[0].Write(w.ctx, func(tx *store.Tx) error {
			_, err := tx.LockProject(w.ctx, p.ID)
			close(locked)
			<-release
			return err
		}))
	})
	<-locked
	busy, gather := make(chan struct{}), make(chan struct{})
	wg.Go(func() { // blocks the writer, so that the following units are committed as one group
		w.must(stores[1].Write(w.ctx, func(*store.Tx) error { close(busy); <-gather; return nil }))
	})
	<-busy
	// The statement is in progress long before the context of its caller ends.
	ctx, cancel := context.WithTimeout(w.ctx, 500*time.Millisecond)
	defer cancel()
	var queued sync.WaitGroup
	queued.Add(21)
	for i := range 21 {
		wg.Go(func() {
			queued.Done()
			if i == 10 {
				err := stores[1].Write(ctx, func(tx *store.Tx) error { _, err := tx.LockProject(ctx, p.ID); return err })
				if err != nil && !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("the unit of a caller that left: %v", err)
				}
				return
			}
			err := stores[1].Write(w.ctx, func(tx *store.Tx) error { return tx.InsertProject(w.ctx, newProject("beside")) })
			if err != nil {
				t.Errorf("a unit beside it: %v", err)
			}
		})
	}
	queued.Wait()
	close(gather)
	<-ctx.Done()
	close(release)
	wg.Wait()
}
