package storetest

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"svc"
	"svc/store"
)

// together queues repeatable units behind a unit that blocks the writer, so that
// they share a group and a savepoint, and returns the error of each. rows are the
// rows that they need.
func (w *world) together(rows []store.Row, units ...func(*store.Tx) error) []error {
	held, release := make(chan struct{}), make(chan struct{})
	hold := w.Queue(w.ctx, func(*store.Tx) error { close(held); <-release; return nil })
	<-held // the group of the blocking unit is complete: the others form the next group
	waits := make([]func() error, len(units))
	for i, unit := range units {
		waits[i] = w.QueueRepeatable(w.ctx, unit, rows...)
	}
	close(release)
	w.must(hold())
	answers := make([]error, len(units))
	for i, wait := range waits {
		answers[i] = wait()
	}
	return answers
}

func repeatedUnits(t *testing.T, w *world) {
	for _, c := range []struct {
		name string
		bad  func(*store.Tx) error
		want int // how often each of the good units is run
	}{
		{"refused by a rule before any change", func(*store.Tx) error { return svc.Invalid("field", "on purpose") }, 1},
		{"refused by a rule after a change", func(tx *store.Tx) error {
			return errors.Join(tx.InsertProject(w.ctx, newProject("undone")), svc.Invalid("field", "on purpose"))
		}, 2},
		{"broken", func(*store.Tx) error { return errWanted }, 2},
	} {
		var ran [6]int
		var units []func(*store.Tx) error
		before := len(w.journal())
		for i := range ran {
			units = append(units, func(tx *store.Tx) error {
				ran[i]++
				if i == len(ran)-1 {
					return c.bad(tx)
				}
				tx.Emit(svc.TopicProjectCreated, map[string]any{"i": i})
				return tx.InsertProject(w.ctx, newProject(c.name))
			})
		}
		for i, err := range w.together(nil, units...) {
			if (err != nil) != (i == len(ran)-1) {
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
	w.must(err)
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
		wg.Go(func() { w.must(w.WriteRepeatable(w.ctx, change)) })
	}
	wg.Wait()
	stored, err := w.Run(w.ctx, run.ID)
	w.must(err)
	if r := lock(); r.Version != 9 || r.Status != svc.RunRunning || stored.Version != r.Version || !stored.Acked || stored.Status != r.Status {
		t.Errorf("the locked run is %s in version %d, the stored one %s in version %d", r.Status, r.Version, stored.Status, stored.Version)
	}
}

// takenSessionName inserts a run whose session name is taken. The deferred
// insert fails after the unit has ended. Then the unit is run again and gets
// ErrSessionTaken.
func takenSessionName(t *testing.T, w *world) {
	run := w.run(w.item(w.project("p"), nil))
	other, beside := run, run
	other.ID, beside.ID = svc.NewRunID(), svc.NewRunID()
	beside.SessionName = svc.SessionName(beside.ID)
	told := false
	for i, err := range w.together(nil,
		func(tx *store.Tx) error { return tx.InsertRun(w.ctx, beside) },
		func(tx *store.Tx) error {
			err := tx.InsertRun(w.ctx, other)
			if told = errors.Is(err, store.ErrSessionTaken); told {
				renamed := other
				renamed.SessionName = svc.SessionName(other.ID)
				err = tx.InsertRun(w.ctx, renamed)
			}
			return err
		}) {
		if err != nil {
			t.Errorf("unit %d: %v", i, err)
		}
	}
	if !told {
		t.Error("the unit was not told that the session name is taken")
	}
	for _, r := range []svc.Run{beside, other} {
		if stored, err := w.Run(w.ctx, r.ID); err != nil || stored.SessionName != svc.SessionName(r.ID) {
			t.Errorf("the run is stored as %q (%v), want %q", stored.SessionName, err, svc.SessionName(r.ID))
		}
	}
}

// signalsOfNewRuns records signals of a run that this process has inserted, and
// expects that each is recorded once.
func signalsOfNewRuns(t *testing.T, w *world) {
	item := w.item(w.project("p"), nil)
	run := w.run(item)
	started := svc.Signal{RunID: run.ID, Attempt: run.Attempt, Kind: svc.SignalStarted}
	var taken atomic.Int32
	take := func(s svc.Signal) func(*store.Tx) error {
		return func(tx *store.Tx) error {
			first, err := tx.TakeSignal(w.ctx, s)
			if again, otherErr := tx.TakeSignal(w.ctx, s); again {
				t.Errorf("one unit took a signal twice (%v)", otherErr)
			}
			if first {
				taken.Add(1)
			}
			return err
		}
	}
	finished := started
	finished.Kind = svc.SignalFinished
	rows := store.RunRows(run.ID)
	for range 3 {
		for _, err := range w.together(rows, take(started), take(started), take(finished)) {
			w.must(err)
		}
	}
	if got, err := w.TakenSignals(w.ctx, run.ID); taken.Load() != 2 || err != nil || len(got) != 2 {
		t.Errorf("%d signals were taken, the run has %v (%v)", taken.Load(), got, err)
	}
	undone := started
	undone.Attempt++
	for _, err := range w.together(rows, func(tx *store.Tx) error { return errors.Join(take(undone)(tx), errWanted) }) {
		if !errors.Is(err, errWanted) {
			t.Errorf("a failing unit answered %v", err)
		}
	}
	taken.Store(0)
	for _, err := range w.together(rows, take(undone)) {
		w.must(err)
	}
	if taken.Load() != 1 {
		t.Error("a signal that a failed unit took cannot be taken any more")
	}
}

// targetsOfAGroup reads the target of new runs while other units of the same
// group change its project and delete its item.
func targetsOfAGroup(t *testing.T, w *world) {
	p := w.project("p")
	item := w.item(p, nil)
	read := func(want string) func(*store.Tx) error {
		return func(tx *store.Tx) error {
			target, err := tx.LockRunTarget(w.ctx, item.ID)
			if err == nil && (target.Title != item.Title || target.Project.Model != want) {
				t.Errorf("the target of a run is %q of a project with model %q, want %q with %q", target.Title, target.Project.Model, item.Title, want)
			}
			return err
		}
	}
	change := func(tx *store.Tx) error {
		p, err := tx.Project(w.ctx, p.ID)
		if err != nil {
			return err
		}
		p.Model = "other"
		return tx.UpdateProject(w.ctx, &p)
	}
	remove := func(tx *store.Tx) error { _, err := tx.DeleteSubtree(w.ctx, item.ID); return err }
	rows := []store.Row{store.TargetRow(item.ID), store.ProjectRow(p.ID)}
	for i, err := range w.together(rows, read(p.Model), read(p.Model), change, read("other"), read("other")) {
		if err != nil {
			t.Errorf("unit %d: %v", i, err)
		}
	}
	answers := w.together(rows, read("other"), remove, read("other"))
	w.must(errors.Join(answers[0], answers[1]))
	w.wantCode("the target of a run that was deleted in the same group", answers[2], svc.CodeNotFound)
}
