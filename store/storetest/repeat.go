package storetest

import (
	"errors"
	"sync"
	"testing"

	"svc"
	"svc/store"
)

// repeatedUnits queues units behind one that holds the writer, so that they
// share a savepoint.
func repeatedUnits(t *testing.T, w *world) {
	for _, c := range []struct {
		name string
		bad  func(*store.Tx) error
		want int // how often each of the others is run
	}{
		{"refused by a rule before any change", func(*store.Tx) error { return svc.Invalid("field", "on purpose") }, 1},
		{"refused by a rule after a change", func(tx *store.Tx) error {
			return errors.Join(tx.InsertProject(w.ctx, newProject("undone")), svc.Invalid("field", "on purpose"))
		}, 2},
		{"broken", func(*store.Tx) error { return errWanted }, 2},
	} {
		held, release := make(chan struct{}), make(chan struct{})
		hold := w.Queue(w.ctx, func(*store.Tx) error { close(held); <-release; return nil })
		<-held // its group is complete: the others make one of their own
		var ran [6]int
		var waits []func() error
		before := len(w.journal())
		for i := range ran {
			waits = append(waits, w.QueueRepeatable(w.ctx, func(tx *store.Tx) error {
				ran[i]++
				if i == len(ran)-1 {
					return c.bad(tx)
				}
				tx.Emit(svc.TopicProjectCreated, map[string]any{"i": i})
				return tx.InsertProject(w.ctx, newProject(c.name))
			}))
		}
		close(release)
		w.no(hold())
		for i, wait := range waits {
			if err := wait(); (err != nil) != (i == len(ran)-1) {
				t.Errorf("%s: unit %d answered %v", c.name, i, err)
			}
			if ran[i] != c.want && i < len(ran)-1 {
				t.Errorf("%s: unit %d was run %d times, want %d", c.name, i, ran[i], c.want)
			}
		}
		if n := len(w.journal()) - before; n != len(ran)-1 {
			t.Errorf("%s: %d events, want one of each good unit", c.name, n)
		}
	}
	list, err := w.Projects(w.ctx, svc.Page{Limit: svc.MaxLimit})
	w.no(err)
	if len(list.Items) != 15 {
		t.Errorf("%d projects, want the 15 of the good units", len(list.Items))
	}
}

func lockedRunIsCommitted(t *testing.T, w *world) {
	h := w.host("h")
	run := w.run(w.item(w.project("p"), nil), func(r *svc.Run) { r.Status, r.HostID = svc.RunSpawning, &h.ID })
	lock := func() (r svc.Run) {
		w.write(func(tx *store.Tx) (err error) { r, err = tx.LockRun(w.ctx, run.ID); return err })
		return r
	}
	change := func(tx *store.Tx) error {
		r, err := tx.LockRun(w.ctx, run.ID)
		if err != nil {
			return err
		}
		r.Status = svc.RunRunning
		if err := tx.UpdateRun(w.ctx, &r); err != nil {
			return err
		}
		again, err := tx.LockRun(w.ctx, run.ID)
		if err == nil && (again.Status != svc.RunRunning || again.Version != r.Version) {
			t.Errorf("the unit's own change is read back as %s in version %d", again.Status, again.Version)
		}
		return err
	}
	for _, write := range []func(func(*store.Tx) error) error{
		func(fn func(*store.Tx) error) error { return w.Write(w.ctx, fn) },
		func(fn func(*store.Tx) error) error { return w.WriteRepeatable(w.ctx, fn) },
	} {
		err := write(func(tx *store.Tx) error { return errors.Join(change(tx), errWanted) })
		if !errors.Is(err, errWanted) {
			t.Errorf("a failing unit answered %v", err)
		}
		if r := lock(); r.Status != svc.RunSpawning || r.Version != 1 || r.Acked {
			t.Errorf("after a failed unit the run is %s in version %d", r.Status, r.Version)
		}
	}
	w.write(func(tx *store.Tx) error { _, err := tx.MarkAcked(w.ctx, run.ID, 1, h.ID); return err })
	at := svc.Time(50)
	w.write(func(tx *store.Tx) error { return tx.MarkOutput(w.ctx, run.ID, 11, 2, &at) })
	if r := lock(); !r.Acked || r.LastOutputAt == nil || *r.LastOutputAt != 50 || r.OutputBytes != 11 || r.OutputLines != 2 {
		t.Errorf("after an ack and output the run is %+v", r)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() { w.no(w.WriteRepeatable(w.ctx, change)) })
	}
	wg.Wait()
	stored, err := w.Run(w.ctx, run.ID)
	w.no(err)
	if r := lock(); r.Version != 9 || r.Status != svc.RunRunning || stored.Version != r.Version || !stored.Acked || stored.Status != r.Status {
		t.Errorf("the locked run is %s in version %d, the stored one %s in version %d", r.Status, r.Version, stored.Status, stored.Version)
	}
}
