// Package storetest is the definition of a correct store: one suite of tests that
// runs on every engine. A behaviour of only one engine is tested elsewhere.
package storetest

import (
	"context"
	"testing"
	"time"

	"svc"
	"svc/store"
)

// Open opens a store on an empty database of the test's own. The store is closed
// when the test ends.
type Open func(t *testing.T) *store.Store

// Run runs the whole suite.
func Run(t *testing.T, open Open) {
	for _, c := range []struct {
		name string
		test func(*testing.T, *world)
	}{
		{"a unit is all or nothing", unitIsAtomic},
		{"a unit sees its own writes, readers do not before the commit", readYourWrites},
		{"a failing, panicking or cancelled unit touches no other", badUnitsTouchNoOther},
		{"repeatable units are run again only beside one that failed after a change", repeatedUnits},
		{"a session name that turns out to be taken costs no unit its run", takenSessionName},
		{"a signal of a new run is taken once, also together with others", signalsOfNewRuns},
		{"the target of a run is as the units before have left it", targetsOfAGroup},
		{"a locked run is as the last commit left it, whatever failed since", lockedRunIsCommitted},
		{"a caller is answered after the commit", answeredAfterCommit},
		{"a context that ends while queued leaves nothing", cancelledWhileQueued},
		{"closing finishes or refuses each queued unit, and tells which", closeWhileQueued},
		{"a view is one state", viewIsOneState},
		{"events are numbered without gaps in commit order", eventsAreGapless},
		{"a tailer sees every event of 16 writers once and in order", tailerSeesAll},
		{"a purge removes a prefix and remembers how far it went", purgeRemovesPrefix},
		{"a purge beside writers never makes a gap", purgeBesideWriters},
		{"records come back as they were written", recordsRoundTrip},
		{"a record that changed meanwhile is not overwritten", compareAndSet},
		{"taken names are conflicts", uniqueNames},
		{"deleted hosts and items answer not found and free their place", softDeletes},
		{"items are numbered in their project, once and for all", numbersOfItems},
		{"runs and items are read with each other's names", namesOfRunsAndItems},
		{"text is ordered by bytes", textOrder},
		{"an idempotency key answers its first result until it is forgotten", idempotencyKeys},
		{"a signal is taken once, however many post it at once", signalsOnce},
		{"what is noted beside a record changes no version", notesKeepVersions},
		{"heartbeats of many hosts are written in batches", heartbeatsInBatches},
		{"the runs of hosts that are gone are found without their rows", runsOfGoneHosts},
		{"the inbox is one list of all causes, newest first", inboxOfAllKinds},
		{"the next message of each run is its oldest open one", messagesOfRuns},
		{"a replica is ready, draining or gone, and a beat keeps what it was told", registryOfReplicas},
		{"the outbox keeps each notification once, in the order in which it is sent", outboxOfSinks},
		{"every list gives each row once in pages of two", pagesGiveEachRowOnce},
		{"pages end early when their records are large", pagesEndEarly},
		{"pages stay stable while rows come and go", pagesAreStable},
		{"a cursor of another list is refused", foreignCursors},
		{"work items are filtered by every combination", itemFilters},
		{"lists of several values are one state while records move between them", movingRecords},
		{"a large subtree is listed like a small one", largeSubtree},
		{"runs are filtered by every combination", runFilters},
		{"pending runs stand in queues of equal demands, longest waiting first", queuesOfRuns},
		{"where few runs wait, their queues are the same", queuesOfFewRuns},
		{"runs that a clock which was ahead has queued are found", runsFromAhead},
		{"projects take turns", turnsOfProjects},
		{"a run that continues another waits until that one is over", runsThatContinue},
		{"a run that very many hosts refused has a queue of its own", refusedByMany},
		{"unconfirmed dispatches and sessions to end are found by host", unconfirmedDispatches},
		{"a host fitted until it changed", hostsThatFitted},
		{"a host's capacity is counted where it is claimed", capacityOfHosts},
		{"the times of service are kept as they are told", serviceTimes},
		{"a moved subtree takes its paths along", moveSubtree},
		{"a subtree is deleted as a whole and told in order", deleteSubtree},
		{"an active run below an item is found", activeRunBelow},
		{"spread positions keep the order", spreadPositions},
		{"a path of 300 levels is stored, moved and listed", deepPaths},
		{"the snapshot has open work and the newest ended runs", snapshotContents},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.test(t, newWorld(t, open(t)))
		})
	}
}

// world is a store with a fake clock and helpers that insert records.
type world struct {
	t *testing.T
	*store.Store
	ctx context.Context
}

func newWorld(t *testing.T, s *store.Store) *world {
	return &world{t: t, Store: s, ctx: t.Context()}
}

// waitLimit is the timeout of every wait of the suite. A test that passes never
// reaches it.
const waitLimit = 60 * time.Second

func (w *world) write(fn func(tx *store.Tx) error, rows ...store.Row) {
	w.t.Helper()
	if err := w.Write(w.ctx, fn, rows...); err != nil {
		w.t.Fatalf("write: %v", err)
	}
}

func (w *world) project(name string) svc.Project {
	w.t.Helper()
	p := newProject(name)
	w.write(func(tx *store.Tx) error { return tx.InsertProject(w.ctx, p) })
	return p
}

func newProject(name string) svc.Project {
	id := svc.NewID()
	return svc.Project{ID: id, Name: name, Slug: "s" + id[24:], Status: svc.ProjectActive, CreatedAt: 1, UpdatedAt: 1, Version: 1}
}

// item adds an item at the end of the project's order.
func (w *world) item(p svc.Project, parent *svc.WorkItem, change ...func(*svc.WorkItem)) svc.WorkItem {
	w.t.Helper()
	var item svc.WorkItem
	w.write(func(tx *store.Tx) (err error) {
		item, err = addItem(w.ctx, tx, p, parent, change...)
		return err
	})
	return item
}

func addItem(ctx context.Context, tx *store.Tx, p svc.Project, parent *svc.WorkItem, change ...func(*svc.WorkItem)) (svc.WorkItem, error) {
	id := svc.NewID()
	item := svc.WorkItem{ID: id, ProjectID: p.ID, ProjectSlug: p.Slug, Kind: svc.KindTask, Title: "item", Status: svc.ItemTodo,
		StatusSource: svc.SourceByHand, Path: id, Needs: []string{}, CreatedAt: tx.Now, UpdatedAt: tx.Now, Version: 1}
	if parent != nil {
		item.ParentID, item.Path = &parent.ID, parent.Path+"/"+id
	}
	for _, c := range change {
		c(&item)
	}
	last, err := tx.LastPosition(ctx, p.ID)
	if err != nil {
		return item, err
	}
	item.Position = svc.RankBetween(last, "")
	err = tx.InsertWorkItem(ctx, &item)
	return item, err
}

func (w *world) host(name string) svc.Host {
	w.t.Helper()
	h := svc.Host{ID: svc.NewID(), Name: name, Status: svc.HostRegistered, Labels: map[string]string{},
		Providers: map[string]svc.ProviderReport{}, CreatedAt: 1, UpdatedAt: 1, Version: 1}
	w.write(func(tx *store.Tx) error { return tx.InsertHost(w.ctx, h) })
	return h
}

func (w *world) run(task svc.WorkItem, change ...func(*svc.Run)) svc.Run {
	w.t.Helper()
	id := svc.NewRunID()
	r := svc.Run{ID: id, TaskID: task.ID, ProjectID: task.ProjectID, Provider: "provider_a", SessionName: svc.SessionName(id),
		Status: svc.RunPending, Attempt: 1, Args: []string{}, Env: map[string]string{}, HostLabels: map[string]string{}, RestartPolicy: svc.RestartNever,
		PendingSince: 1, CreatedAt: 1, UpdatedAt: 1, Version: 1}
	for _, c := range change {
		c(&r)
	}
	w.write(func(tx *store.Tx) error { return tx.InsertRun(w.ctx, r) })
	r.TaskTitle, r.TaskNumber, r.ProjectSlug = task.Title, task.Number, task.ProjectSlug
	return r
}

// journal reads all events.
func (w *world) journal() []svc.Event {
	w.t.Helper()
	events, err := w.EventsAfter(w.ctx, 0, 1<<20)
	if err != nil {
		w.t.Fatalf("read the journal: %v", err)
	}
	return events
}

func (w *world) wantCode(what string, err error, want svc.Code) {
	w.t.Helper()
	if got := svc.CodeOf(err); got != want {
		w.t.Errorf("%s: code %q, want %q (%v)", what, got, want, err)
	}
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func ptr[T any](v T) *T { return &v }
