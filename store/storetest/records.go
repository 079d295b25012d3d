package storetest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"svc"
	"svc/store"
)

func recordsRoundTrip(t *testing.T, w *world) {
	p := w.project("ünïcode\tname 🚀")
	p.Description, p.Cwd, p.Status, p.ArchivedAt = "line\nline", "/tmp", svc.ProjectArchived, ptr(svc.Time(5))
	p.Provider, p.Model = "claude", "opus"
	w.write(func(tx *store.Tx) error { return tx.UpdateProject(w.ctx, &p) })
	got, err := w.Project(w.ctx, p.Slug)
	same(t, err, got, p)

	item := w.item(p, nil)
	child := w.item(p, &item)
	child.Kind, child.Title, child.Description, child.AutoMarkDone = svc.KindSubtask, "t", "d", true
	child.MarkByHand(svc.ItemDone, ptr(svc.Unsure))
	w.write(func(tx *store.Tx) error { return tx.UpdateWorkItem(w.ctx, &child) })
	gotItem, err := w.WorkItem(w.ctx, child.ID)
	same(t, err, gotItem, child)

	h := w.host("h")
	h.Status, h.Platform, h.LastSeenAt, h.InstanceID = svc.HostOnline, "linux/arm64", ptr(svc.Time(7)), ptr(svc.NewID())
	h.InstanceSuspect, h.SuspectInstanceID, h.MaxRuns = true, ptr(svc.NewID()), ptr(3)
	h.Labels = map[string]string{"zone": "ä"}
	h.Providers = map[string]svc.ProviderReport{"provider_a": {Available: true, Version: "1", Conversation: svc.ConversationMinted, Resumes: true}, "x": {Reason: "missing"}}
	h.WorkerVersion, h.LastDispatchAt, h.OfflineSince = "v1", ptr(svc.Time(8)), ptr(svc.Time(9))
	w.write(func(tx *store.Tx) error { return tx.UpdateHost(w.ctx, &h) })
	gotHost, err := w.Host(w.ctx, "h")
	same(t, err, gotHost, h)

	r := w.run(child, func(r *svc.Run) {
		r.PinnedHostID, r.Prompt, r.Model, r.Cwd = &h.ID, "prompt\x1b[0m", "m", "/c"
		r.Args, r.Env = []string{"a", ""}, map[string]string{"K": "V"}
		r.RestartPolicy, r.MaxRestarts, r.TaskManualMarks = svc.RestartAlways, 7, 4
		r.ContinuesRunID, r.Resumes = ptr(svc.NewRunID()), true
		r.HostLabels, r.IgnoreNeeds = map[string]string{"gpu": "a b", "": ""}, true
	})
	r.Status, r.Attempt, r.HostID, r.FailureReason = svc.RunFailed, 2, &h.ID, ptr(svc.ReasonHostLost)
	r.ExitCode, r.Error, r.Result, r.ResultReason = ptr(-1), ptr("e"), ptr(svc.ResultPartialSuccess), ptr("why")
	r.LastProgressSeq, r.ProgressMessage, r.ProgressPercent, r.NeedsInput, r.AskedAt, r.TurnOver = math.MaxInt64, ptr("p"), ptr(255), true, ptr(svc.Time(8)), true
	r.LastOutputAt, r.PendingSince, r.NextDispatchAt, r.StartedAt = ptr(svc.Time(1)), 2, ptr(svc.Time(3)), ptr(svc.Time(4))
	r.EndedAt, r.SessionEndedAt, r.Refused = ptr(svc.Time(5)), ptr(svc.Time(6)), []string{h.ID}
	r.PastHosts, r.EndClaimed = []string{"", h.ID}, true
	r.Conversation, r.PinnedHostID = &svc.Conversation{ID: "c", Source: svc.ConversationByHook, Resumed: svc.ResumedYes}, nil
	r.Wait, r.Priority, r.NotBefore = true, -2, ptr(svc.Time(8))
	r.Acked, r.DispatchedAt = true, ptr(svc.Time(7))
	w.write(func(tx *store.Tx) error { return tx.UpdateRun(w.ctx, &r) })
	gotRun, err := w.Run(w.ctx, r.ID)
	same(t, err, gotRun, r)
}

func same(t *testing.T, err error, got, want any) {
	t.Helper()
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("read %+v (%v)\nwant %+v", got, err, want)
	}
}

func compareAndSet(t *testing.T, w *world) {
	p := w.project("p")
	item, host := w.item(p, nil), w.host("h")
	run := w.run(item)
	for what, update := range map[string]func(tx *store.Tx) (before, after int64, err error){
		"project": func(tx *store.Tx) (int64, int64, error) {
			c := p
			err := tx.UpdateProject(w.ctx, &c)
			return p.Version, c.Version, err
		},
		"work item": func(tx *store.Tx) (int64, int64, error) {
			c := item
			err := tx.UpdateWorkItem(w.ctx, &c)
			return item.Version, c.Version, err
		},
		"host": func(tx *store.Tx) (int64, int64, error) {
			c := host
			err := tx.UpdateHost(w.ctx, &c)
			return host.Version, c.Version, err
		},
		"run": func(tx *store.Tx) (int64, int64, error) {
			c := run
			err := tx.UpdateRun(w.ctx, &c)
			return run.Version, c.Version, err
		},
	} {
		var won, lost atomic.Int32
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				err := w.Write(w.ctx, func(tx *store.Tx) error {
					before, after, err := update(tx)
					if err == nil && after != before+1 {
						t.Errorf("%s: version %d follows %d", what, after, before)
					}
					return err
				})
				switch svc.CodeOf(err) {
				case "":
					won.Add(1)
				case svc.CodeConflict:
					lost.Add(1)
				default:
					t.Errorf("%s: %v", what, err)
				}
			})
		}
		wg.Wait()
		if won.Load() != 1 || lost.Load() != 9 {
			t.Errorf("%s: of 10 updates of one version %d won and %d lost", what, won.Load(), lost.Load())
		}
	}
}

func uniqueNames(t *testing.T, w *world) {
	p, h := w.project("p"), w.host("h")
	run := w.run(w.item(p, nil))
	for what, insert := range map[string]func(tx *store.Tx) error{
		"slug": func(tx *store.Tx) error {
			other := newProject("other")
			other.Slug = p.Slug
			return tx.InsertProject(w.ctx, other)
		},
		"host name": func(tx *store.Tx) error {
			other := h
			other.ID = svc.NewID()
			return tx.InsertHost(w.ctx, other)
		},
		"id": func(tx *store.Tx) error {
			other := newProject("other")
			other.ID = p.ID
			return tx.InsertProject(w.ctx, other)
		},
	} {
		w.wantCode("a taken "+what, w.Write(w.ctx, insert), svc.CodeConflict)
	}
	for slug, want := range map[string]bool{p.Slug: true, "free": false} {
		if got, err := w.SlugTaken(w.ctx, slug); err != nil || got != want {
			t.Errorf("slug %q taken: %v (%v), want %v", slug, got, err, want)
		}
	}
	w.write(func(tx *store.Tx) error {
		other := run
		other.ID = svc.NewRunID()
		if err := tx.InsertRun(w.ctx, other); !errors.Is(err, store.ErrSessionTaken) {
			t.Errorf("a taken session name: %v, want ErrSessionTaken", err)
		}
		other.SessionName = svc.SessionName(other.ID) // the unit continues after the error
		return tx.InsertRun(w.ctx, other)
	})
}

func softDeletes(t *testing.T, w *world) {
	h := w.host("name")
	w.write(func(tx *store.Tx) error { return tx.DeleteHost(w.ctx, h.ID) })
	for _, ref := range []string{h.ID, "name"} {
		_, err := w.Host(w.ctx, ref)
		w.wantCode("a deleted host by "+ref, err, svc.CodeNotFound)
	}
	w.wantCode("an update of a deleted host", w.Write(w.ctx, func(tx *store.Tx) error {
		h := h
		h.Version++
		return tx.UpdateHost(w.ctx, &h)
	}), svc.CodeConflict)
	again := w.host("name")
	if all, err := w.AllHosts(w.ctx); err != nil || len(all) != 1 || all[0].ID != again.ID {
		t.Errorf("hosts after a delete and a create: %v (%v)", all, err)
	}

	p := w.project("p")
	item := w.item(p, nil)
	run := w.run(item, func(r *svc.Run) { r.Status = svc.RunExited })
	w.write(func(tx *store.Tx) error { _, err := tx.DeleteSubtree(w.ctx, item.ID); return err })
	_, err := w.WorkItem(w.ctx, item.ID)
	w.wantCode("a deleted item", err, svc.CodeNotFound)
	if list, err := w.WorkItems(w.ctx, svc.WorkItemFilter{}, svc.Page{Limit: 10}); err != nil || len(list.Items) != 0 {
		t.Errorf("the list has %v (%v) after everything was deleted", list.Items, err)
	}
	if _, err := w.Run(w.ctx, run.ID); err != nil {
		t.Errorf("the run of a deleted item: %v", err)
	}
	if last, err := w.LastPosition(w.ctx, p.ID); err != nil || last != item.Position {
		t.Errorf("the last position is %q (%v), want the deleted item's %q: ranks are never given twice", last, err, item.Position)
	}
	next := w.item(p, nil)
	if low, err := w.PositionBefore(w.ctx, p.ID, next.Position); err != nil || low != item.Position {
		t.Errorf("before the next item stands %q (%v), want the deleted item's %q", low, err, item.Position)
	}
	if high, err := w.PositionAfter(w.ctx, p.ID, item.Position[:1]); err != nil || high != item.Position {
		t.Errorf("the first position is %q (%v), want the deleted item's %q", high, err, item.Position)
	}
}

func textOrder(t *testing.T, w *world) {
	names := []string{"b", "A", "ä", "a", "B", "Z", "z", "_", "-", "é", "e", "10", "9", "a b", "ab", "a-b", "Ä", "ß", "ss", "🚀"}
	for _, n := range names {
		w.project(n)
		w.host(n)
	}
	want := append([]string(nil), names...)
	sort.Strings(want)
	var projects, hosts []string
	all(w, 3, w.Projects, func(p svc.Project) { projects = append(projects, p.Name) })
	all(w, 3, w.Hosts, func(h svc.Host) { hosts = append(hosts, h.Name) })
	same(t, nil, projects, want)
	same(t, nil, hosts, want)
}

func idempotencyKeys(t *testing.T, w *world) {
	var kept svc.Time
	w.write(func(tx *store.Tx) error { kept = tx.Now; return tx.KeepResult(w.ctx, "k", "f", "r") })
	check := func(key string, notBefore svc.Time, want string) {
		t.Helper()
		k, found, err := w.Kept(w.ctx, key, notBefore)
		if got := strings.TrimSpace(fmt.Sprint(k.Fingerprint, " ", k.Result, " ", k.Owner, " ", found)); err != nil || got != want {
			t.Errorf("key %q: %q (%v), want %q", key, got, err, want)
		}
	}
	check("k", kept, "f r  true")
	check("k", kept+1, "false") // too old
	check("other", kept, "false")
	w.write(func(tx *store.Tx) error { return tx.KeepResult(w.ctx, "k", "f2", "r2") })
	check("k", kept, "f2 r2  true")
	w.write(func(tx *store.Tx) error { return tx.ReserveKey(w.ctx, "k2", "f3", "me") })
	check("k2", kept, "f3  me true")
	w.write(func(tx *store.Tx) error { return tx.ReleaseKey(w.ctx, "k2", "another") })
	check("k2", kept, "f3  me true")
	w.write(func(tx *store.Tx) error { return tx.KeepResult(w.ctx, "k2", "f3", "r3") })
	check("k2", kept, "f3 r3  true")
	w.write(func(tx *store.Tx) error { return tx.ReleaseKey(w.ctx, "k2", "me") }) // no effect: the key is not reserved any more
	check("k2", kept, "f3 r3  true")
	w.write(func(tx *store.Tx) error { return tx.ReserveKey(w.ctx, "k2", "f4", "me") })
	w.write(func(tx *store.Tx) error { return tx.ReleaseKey(w.ctx, "k2", "me") })
	check("k2", 0, "false")
	forget := func(before svc.Time, want int64) {
		t.Helper()
		w.write(func(tx *store.Tx) error {
			if n, err := tx.ForgetResults(w.ctx, before, 1); n != want || err != nil {
				t.Errorf("%d keys were forgotten at once, want %d (%v)", n, want, err)
			}
			return nil
		})
	}
	forget(kept, 0)
	check("k", kept, "f2 r2  true")
	w.write(func(tx *store.Tx) error { return tx.KeepResult(w.ctx, "k3", "f", "r") })
	forget(1<<50, 1) // in steps
	forget(1<<50, 1)
	forget(1<<50, 0)
	check("k", 0, "false")
}

func signalsOnce(t *testing.T, w *world) {
	p := w.project("p")
	item := w.item(p, nil)
	a, b := w.run(item), w.run(item)
	var taken sync.Map
	var wg sync.WaitGroup
	for range 20 {
		for _, run := range []svc.Run{a, b} {
			for attempt := 1; attempt <= 2; attempt++ {
				for _, kind := range []svc.SignalKind{svc.SignalStarted, svc.SignalFinished} {
					wg.Go(func() {
						var fresh bool
						err := w.Write(w.ctx, func(tx *store.Tx) (err error) {
							fresh, err = tx.TakeSignal(w.ctx, svc.Signal{RunID: run.ID, Attempt: attempt, Kind: kind, Source: svc.FromWrapper})
							return err
						})
						if err != nil {
							t.Error(err)
						}
						if fresh {
							n, _ := taken.LoadOrStore(fmt.Sprint(run.ID, attempt, kind), new(atomic.Int32))
							n.(*atomic.Int32).Add(1)
						}
					})
				}
			}
		}
	}
	wg.Wait()
	keys := 0
	taken.Range(func(key, n any) bool {
		keys++
		if got := n.(*atomic.Int32).Load(); got != 1 {
			t.Errorf("signal %v was taken %d times", key, got)
		}
		return true
	})
	if keys != 8 {
		t.Errorf("%d signals were taken, want 8", keys)
	}
}

func notesKeepVersions(t *testing.T, w *world) {
	p, h := w.project("p"), w.host("h")
	pending := w.run(w.item(p, nil))
	given := w.run(w.item(p, nil), func(r *svc.Run) { r.Status, r.HostID = svc.RunSpawning, &h.ID })
	w.write(func(tx *store.Tx) error {
		if ok, err := tx.MarkAcked(w.ctx, given.ID, 2, h.ID); ok || err != nil {
			t.Errorf("an ack of another attempt counted (%v)", err)
		}
		if ok, err := tx.MarkAcked(w.ctx, given.ID, 1, svc.NewID()); ok || err != nil {
			t.Errorf("an ack of another host counted (%v)", err)
		}
		if ok, err := tx.MarkAcked(w.ctx, pending.ID, 1, h.ID); ok || err != nil {
			t.Errorf("an ack of a pending run counted (%v)", err)
		}
		if ok, err := tx.MarkAcked(w.ctx, given.ID, 1, h.ID); !ok || err != nil {
			t.Errorf("the host's own ack did not count (%v)", err)
		}
		at := svc.Time(50)
		for _, err := range []error{
			tx.MarkOutput(w.ctx, given.ID, 11, 2, &at),
			tx.SeenHosts(w.ctx, map[string]svc.Time{h.ID: 70}), tx.SeenHosts(w.ctx, map[string]svc.Time{h.ID: 60}),
			tx.DispatchedTo(w.ctx, []string{h.ID}),
		} {
			w.must(err)
		}
		return nil
	})
	gotPending, _ := w.Run(w.ctx, pending.ID)
	gotGiven, _ := w.Run(w.ctx, given.ID)
	gotHost, _ := w.Host(w.ctx, h.ID)
	if !gotGiven.Acked || *gotGiven.LastOutputAt != 50 {
		t.Errorf("given acked %v output %v", gotGiven.Acked, gotGiven.LastOutputAt)
	}
	if gotGiven.OutputBytes != 11 || gotGiven.OutputLines != 2 || gotPending.OutputBytes != 0 {
		t.Errorf("told of %d bytes and %d lines, and of %d of the pending run", gotGiven.OutputBytes, gotGiven.OutputLines, gotPending.OutputBytes)
	}
	confirmed, err := w.ConfirmedRuns(w.ctx, []string{svc.NewID(), h.ID})
	same(t, err, confirmed, map[string][]store.Confirmed{h.ID: {{RunID: given.ID, Attempt: 1, Spawning: true}}})
	open, err := w.OutputRuns(w.ctx)
	w.must(err)
	if len(open) != 1 || open[0].ID != given.ID || open[0].OutputBytes != 11 || open[0].TaskID != given.TaskID || *open[0].HostID != h.ID {
		t.Errorf("runs with output: %+v", open)
	}
	if *gotHost.LastSeenAt != 70 || gotHost.LastDispatchAt == nil || gotHost.ActiveRuns != 1 {
		t.Errorf("host %+v: want seen at 70, dispatched, one active run", gotHost)
	}
	if gotPending.Version != 1 || gotGiven.Version != 1 || gotHost.Version != 1 {
		t.Errorf("versions %d, %d and %d, want 1 each", gotPending.Version, gotGiven.Version, gotHost.Version)
	}
}

func heartbeatsInBatches(t *testing.T, w *world) {
	hosts := make([]svc.Host, 600) // more than fit into one statement
	seen := map[string]svc.Time{}
	for i := range hosts {
		hosts[i] = w.host(fmt.Sprintf("h%04d", i))
		seen[hosts[i].ID] = svc.Time(100 + i)
	}
	w.write(func(tx *store.Tx) error { return tx.SeenHosts(w.ctx, seen) })
	all, err := w.AllHosts(w.ctx)
	w.must(err)
	for i, h := range all {
		if h.LastSeenAt == nil || *h.LastSeenAt != svc.Time(100+i) || h.Version != 1 {
			t.Fatalf("%s was seen at %v, version %d", h.Name, h.LastSeenAt, h.Version)
		}
	}
	id := hosts[0].ID
	step := func(at svc.Time, want func(now svc.Time) svc.Time) {
		t.Helper()
		var now svc.Time
		w.write(func(tx *store.Tx) error {
			now = tx.Now
			return tx.SeenHosts(w.ctx, map[string]svc.Time{id: at})
		})
		h, err := w.Host(w.ctx, id)
		w.must(err)
		if *h.LastSeenAt != want(now) {
			t.Errorf("a heartbeat at %v left %v, want %v", at, *h.LastSeenAt, want(now))
		}
	}
	is := func(at svc.Time) func(svc.Time) svc.Time { return func(svc.Time) svc.Time { return at } }
	step(50, is(100)) // an older time
	future := svc.TimeOf(time.Now().Add(time.Hour))
	step(future, is(future))
	step(future-1000, is(future-1000)) // the clock was set back
}

func runsOfGoneHosts(t *testing.T, w *world) {
	p, a, b := w.project("p"), w.host("a"), w.host("b")
	run := func(h svc.Host, status svc.RunStatus, change func(*svc.Run)) string {
		return w.run(w.item(p, nil), func(r *svc.Run) {
			r.HostID, r.Status, r.RestartPolicy, r.MaxRestarts = &h.ID, status, svc.RestartOnFailure, 1
			change(r)
		}).ID
	}
	as := func(*svc.Run) {}
	unconfirmed := run(a, svc.RunSpawning, as)
	never := run(a, svc.RunSpawning, func(r *svc.Run) { r.RestartPolicy = svc.RestartNever })
	spent := run(a, svc.RunSpawning, func(r *svc.Run) { r.Attempt = 2 })
	acked := run(b, svc.RunSpawning, func(r *svc.Run) { r.Acked = true })
	running := run(b, svc.RunRunning, as)
	stopping := run(b, svc.RunStopped, as)
	run(b, svc.RunStopped, func(r *svc.Run) { r.SessionEndedAt = ptr(svc.Time(1)) })
	c := w.host("c")
	other := run(c, svc.RunSpawning, as)
	w.run(w.item(p, nil))
	want := func(what string, find func(ctx context.Context, hostIDs []string, limit int) ([]string, error), want ...string) {
		t.Helper()
		got, err := find(w.ctx, []string{a.ID, b.ID}, 10)
		w.must(err)
		sort.Strings(got)
		sort.Strings(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
		if got, err := find(w.ctx, []string{a.ID, b.ID}, 1); err != nil || len(got) != 1 {
			t.Errorf("%s, one of them: %v (%v)", what, got, err)
		}
	}
	want("to be requeued", w.UnconfirmedRestarts, unconfirmed)
	want("active", w.ActiveRunsOf, unconfirmed, never, spent, acked, running)
	want("open", w.OpenRunIDs, unconfirmed, never, spent, acked, running, stopping)
	if got, err := w.OpenRunIDs(w.ctx, []string{c.ID}, 10); err != nil || !slices.Equal(got, []string{other}) {
		t.Errorf("of one host: %v (%v)", got, err)
	}
}
