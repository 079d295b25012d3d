package engine

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"svc"
	"svc/hub"
	"svc/store"
	"svc/store/storetest"
	"svc/wire"
)

// Random graphs of items with needs, runs, limits and ends. After each step, which items are blocked, which runs are
// placed in which order, and why a run waits must match a simple implementation of the rules.
func TestQueueAndNeedsAgreeWithTheirModel(t *testing.T) {
	t.Parallel()
	checkQueueModel(t, "sqlite:"+filepath.Join(t.TempDir(), "svc.db"))
}

func TestQueueAndNeedsAgreeWithTheirModelOnPostgreSQL(t *testing.T) {
	t.Parallel()
	dsn := storetest.FreshPostgres(t)
	if long {
		checkQueueModel(t, dsn)
		return
	}
	s := pausedSite(t, dsn)
	for seed := range uint64(4) {
		m := newQueueModel(s, randomly{rand.New(rand.NewPCG(16, seed))}, t)
		for range 8 {
			m.addItem()
		}
		m.walk(25)
		m.end()
	}
}

// long enables the long variants.
var long = os.Getenv("SVC_TEST_LONG") != ""

// Like the models above, with as many items as in a large project.
func TestManyItemsAgreeWithTheirModel(t *testing.T) {
	t.Parallel()
	walkManyItems(t, "sqlite:"+filepath.Join(t.TempDir(), "svc.db"), 1000)
}

func TestManyItemsAgreeWithTheirModelOnPostgreSQL(t *testing.T) {
	t.Parallel()
	items := 150
	if long {
		items = 1000
	}
	walkManyItems(t, storetest.FreshPostgres(t), items)
}

// walkManyItems takes a few steps, the same ones each time. The long variant takes different ones each time.
func walkManyItems(t *testing.T, dsn string, items int) {
	steps, seed := 25, uint64(1000)
	if long {
		steps, seed = 1500, rand.Uint64()
		t.Log("seed", seed)
	}
	m := newQueueModel(pausedSite(t, dsn), randomly{rand.New(rand.NewPCG(16, seed))}, t)
	for range items {
		m.addItem()
	}
	for range items / 2 {
		m.addNeed()
	}
	for range items / 10 {
		m.addRun()
	}
	m.walk(steps)
}

func checkQueueModel(t *testing.T, dsn string) {
	s := pausedSite(t, dsn)
	rapid.Check(t, func(rt *rapid.T) {
		m := newQueueModel(s, drawn{rt}, rt)
		defer m.end()
		for range 8 {
			m.addItem()
		}
		m.walk(rapid.IntRange(5, 25).Draw(rt, "steps"))
	})
}

// pausedSite returns an engine whose claimer runs only when the test calls it.
func pausedSite(t *testing.T, dsn string) *site {
	t.Helper()
	st, err := store.Open(t.Context(), dsn, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	log := slog.New(slog.NewTextHandler(failOnError{t}, &slog.HandlerOptions{Level: slog.LevelError}))
	e, err := New(t.Context(), Config{Store: st, Hub: hub.New(t.TempDir(), log), Log: log, DispatchTimeout: time.Hour, AckTimeout: time.Hour,
		OfflineAfter: time.Hour, OutputInterval: time.Hour, SigningKey: []byte("0123456789abcdef")})
	if err != nil {
		t.Fatal(err)
	}
	s := &site{t: t, Engine: e, ctx: t.Context()}
	for _, labels := range []map[string]string{{}, {"gpu": "yes"}} {
		w := s.newHost(fmt.Sprint("host", len(labels)), func(n *svc.NewHost) { n.Labels = labels })
		w.register(wire.Capabilities...)
		w.connect()
		t.Cleanup(w.drop)
		w.beat()
		for e.Hub.Uplinks.Ready()[w.host.ID] == nil {
			<-e.claims.c
		}
	}
	return s
}

// chooser is the source of a model's choices.
type chooser interface{ below(n int) int }

type drawn struct{ t *rapid.T }

func (d drawn) below(n int) int { return rapid.IntRange(0, n-1).Draw(d.t, "choice") }

type randomly struct{ *rand.Rand }

func (r randomly) below(n int) int { return r.IntN(n) }

// queueModel is the expected state.
type queueModel struct {
	*site
	t interface {
		Helper()
		Fatalf(format string, args ...any)
	}
	choose   chooser
	projects []*queueProject
	items    []*queueItem
	runs     []*queueRun // pending or placed
	hosts    map[string]svc.Host
	slots    map[string]*int // limit of each host
	turn     int
}

type queueProject struct {
	id   string
	most *int
	turn int
}

type queueItem struct {
	svc.WorkItem
	project *queueProject
	parent  *queueItem
	done    bool
	needs   map[*queueItem]bool
}

type queueRun struct {
	svc.Run
	item *queueItem
	host string // empty: pending
}

func newQueueModel(s *site, choose chooser, t interface {
	Helper()
	Fatalf(format string, args ...any)
}) *queueModel {
	m := &queueModel{site: s, t: t, choose: choose, hosts: map[string]svc.Host{}, slots: map[string]*int{}}
	for range 2 {
		m.projects = append(m.projects, &queueProject{id: s.project().ID})
	}
	hosts, err := s.Store.AllHosts(s.ctx)
	m.must(err)
	for _, h := range hosts {
		m.hosts[h.ID] = h
		m.limitHost(h.ID, 1+choose.below(3))
	}
	head, _, err := s.Store.JournalEnds(s.ctx)
	m.must(err)
	s.seen = head
	return m
}

func (m *queueModel) must(err error) {
	m.t.Helper()
	if err != nil {
		m.t.Fatalf("%v", err)
	}
}

// agree fails the test if an error has none of the expected codes. Without codes, it expects success.
func (m *queueModel) agree(what string, err error, want ...svc.Code) {
	m.t.Helper()
	if len(want) == 0 && err != nil || len(want) > 0 && !slices.Contains(want, svc.CodeOf(err)) {
		m.t.Fatalf("%s: %v, want %v", what, err, want)
	}
}

func (m *queueModel) walk(steps int) {
	m.t.Helper()
	all := []func(){m.addItem, m.addNeed, m.addNeed, m.removeNeed, m.mark, m.mark, m.move, m.remove, m.addRun, m.addRun, m.addRun, m.patch,
		m.stopRun, m.endRun, m.endRun, m.limit, m.pass, m.pass, m.pass}
	for range steps {
		all[m.choose.below(len(all))]()
		m.check()
	}
}

func (m *queueModel) item() *queueItem {
	if len(m.items) == 0 {
		m.addItem()
	}
	return m.items[m.choose.below(len(m.items))]
}

func (m *queueModel) addItem() {
	p, n := m.projects[m.choose.below(len(m.projects))], svc.NewWorkItem{Kind: svc.KindTask, Title: "t"}
	var parent *queueItem
	if len(m.items) > 0 && m.choose.below(3) == 0 {
		parent = m.item()
		p, n.ParentID = parent.project, &parent.ID
	}
	n.ProjectID = p.id
	w, err := m.CreateWorkItem(m.ctx, n)
	m.must(err)
	m.items = append(m.items, &queueItem{WorkItem: w, project: p, parent: parent, needs: map[*queueItem]bool{}})
}

// within reports whether an item is another one or below it.
func (i *queueItem) within(other *queueItem) bool {
	for at := i; at != nil; at = at.parent {
		if at == other {
			return true
		}
	}
	return false
}

// waitsFor returns what an item and its ancestors need.
func (i *queueItem) waitsFor() []*queueItem {
	all := map[*queueItem]bool{}
	for at := i; at != nil; at = at.parent {
		for o := range at.needs {
			all[o] = true
		}
	}
	out := make([]*queueItem, 0, len(all))
	for o := range all {
		out = append(out, o)
	}
	return out
}

func (i *queueItem) unmet() (ids []string) {
	for _, o := range i.waitsFor() {
		if !o.done {
			ids = append(ids, o.ID)
		}
	}
	slices.Sort(ids)
	return ids
}

// possible reports whether every item can be done: no need is between an item and its ancestor or descendant, and
// there is no cycle.
func (m *queueModel) possible() bool {
	state := map[*queueItem]int{} // 1: being visited, 2: can be done
	var can func(i *queueItem) bool
	can = func(i *queueItem) bool {
		if state[i] > 0 {
			return state[i] == 2
		}
		state[i] = 1
		if slices.ContainsFunc(i.waitsFor(), func(o *queueItem) bool { return !can(o) }) {
			return false
		}
		state[i] = 2
		return true
	}
	for _, i := range m.items {
		for o := range i.needs {
			if i.within(o) || o.within(i) {
				return false
			}
		}
		if !can(i) {
			return false
		}
	}
	return true
}

func (m *queueModel) addNeed() {
	a, b := m.item(), m.item()
	before := a.needs[b]
	a.needs[b] = true
	var want []svc.Code
	switch {
	case a.project != b.project:
		want = []svc.Code{svc.CodeValidation}
	case a.within(b) || b.within(a):
		want = []svc.Code{svc.CodeNeedInOwnLine}
	case !m.possible():
		want = []svc.Code{svc.CodeNeedCycle}
	}
	m.agree("need", m.AddNeed(m.ctx, a.ID, b.ID), want...)
	if len(want) > 0 && !before {
		delete(a.needs, b)
	}
}

func (m *queueModel) removeNeed() {
	a, b := m.item(), m.item()
	for o := range a.needs {
		if b.ID > o.ID || !a.needs[b] {
			b = o // an existing need, the oldest
		}
	}
	m.agree("no need", m.RemoveNeed(m.ctx, a.ID, b.ID))
	delete(a.needs, b)
}

func (m *queueModel) mark() {
	i := m.item()
	to := []svc.ItemStatus{svc.ItemTodo, svc.ItemDone, svc.ItemDone, svc.ItemCancelled}[m.choose.below(4)]
	_, err := m.UpdateWorkItem(m.ctx, i.ID, svc.WorkItemPatch{Status: &to}, nil)
	m.must(err)
	i.done = to == svc.ItemDone
}

func (m *queueModel) move() {
	a, b := m.item(), m.item()
	was := a.parent
	if a.project != b.project || b.within(a) {
		return // moves that are refused for other reasons have their own tests
	}
	a.parent = b
	if m.choose.below(3) == 0 {
		a.parent = nil
	}
	var to *string
	if a.parent != nil {
		to = &b.ID
	}
	var want []svc.Code
	if !m.possible() {
		want = []svc.Code{svc.CodeNeedInOwnLine, svc.CodeNeedCycle}
	}
	_, err := m.UpdateWorkItem(m.ctx, a.ID, svc.WorkItemPatch{Parent: &svc.ParentChange{ID: to}}, nil)
	m.agree("move", err, want...)
	if err != nil {
		a.parent = was
	}
}

func (m *queueModel) remove() {
	gone, detach := m.item(), m.choose.below(2) == 0
	var want []svc.Code
	for _, i := range m.items {
		for o := range i.needs {
			if o.within(gone) && !i.within(gone) && !detach {
				want = append(want, svc.CodeNeeded)
			}
		}
	}
	if slices.ContainsFunc(m.runs, func(r *queueRun) bool { return r.item.within(gone) }) {
		want = append(want, svc.CodeActiveRuns)
	}
	err := m.DeleteWorkItem(m.ctx, gone.ID, true, detach, nil)
	if m.agree("delete", err, want...); err != nil {
		return
	}
	m.items = slices.DeleteFunc(slices.Clone(m.items), func(i *queueItem) bool { return i.within(gone) })
	for _, i := range m.items {
		for o := range i.needs {
			if o.within(gone) {
				delete(i.needs, o)
			}
		}
	}
}

func (m *queueModel) addRun() {
	i := m.item()
	n := svc.NewRun{TaskID: i.ID, Provider: "provider_a", Wait: true, Priority: m.choose.below(5) - 2, IgnoreNeeds: m.choose.below(5) == 0}
	if m.choose.below(5) == 0 {
		n.HostLabels = map[string]string{"gpu": "yes"}
	}
	if m.choose.below(6) == 0 {
		at := m.now().Add(time.Hour)
		n.NotBefore = &at
	}
	r, err := m.CreateRun(m.ctx, n)
	m.must(err)
	m.runs = append(m.runs, &queueRun{Run: r, item: i})
}

func (m *queueModel) aRun() *queueRun {
	if len(m.runs) == 0 {
		return nil
	}
	return m.runs[m.choose.below(len(m.runs))]
}

func (m *queueModel) patch() {
	r := m.aRun()
	if r == nil {
		return
	}
	priority, atOnce := m.choose.below(5)-2, (*svc.Time)(nil)
	_, err := m.UpdateRun(m.ctx, r.ID, svc.RunPatch{Priority: &priority, NotBefore: &atOnce}, nil)
	if r.host != "" {
		m.agree("patch", err, svc.CodeRunNotPending)
		return
	}
	m.must(err)
	r.Priority, r.NotBefore = priority, nil
}

func (m *queueModel) forget(r *queueRun) {
	m.runs = slices.DeleteFunc(m.runs, func(o *queueRun) bool { return o == r })
}

func (m *queueModel) stopRun() {
	if r := m.aRun(); r != nil && r.host == "" {
		_, err := m.StopRun(m.ctx, r.ID)
		m.must(err)
		m.forget(r)
	}
}

func (m *queueModel) endRun() {
	r := m.aRun()
	if r == nil || r.host == "" {
		return
	}
	for _, kind := range []svc.SignalKind{svc.SignalStarted, svc.SignalFinished} {
		outcome, err := m.signal(r.Run, kind)
		if m.must(err); outcome != svc.Applied {
			m.t.Fatalf("%s of %s is %s", kind, r.ID, outcome)
		}
	}
	m.forget(r)
}

func (m *queueModel) limit() {
	if m.choose.below(2) == 0 {
		m.limitHost(slices.Sorted(maps.Keys(m.slots))[m.choose.below(len(m.slots))], m.choose.below(4))
		return
	}
	p := m.projects[m.choose.below(len(m.projects))]
	p.most = nil
	if n := m.choose.below(4); n > 0 {
		p.most = &n
	}
	_, err := m.UpdateProject(m.ctx, p.id, svc.ProjectPatch{MaxRuns: &svc.MaxRunsChange{Max: p.most}}, nil)
	m.must(err)
}

func (m *queueModel) limitHost(id string, n int) {
	most := 1 + n
	m.slots[id] = &most
	_, err := m.UpdateHost(m.ctx, id, svc.HostPatch{MaxRuns: &svc.MaxRunsChange{Max: &most}}, nil)
	m.must(err)
}

func (m *queueModel) active(of func(*queueRun) bool) (n int) {
	for _, r := range m.runs {
		if r.host != "" && of(r) {
			n++
		}
	}
	return n
}

func (m *queueModel) full(p *queueProject) bool {
	return p.most != nil && m.active(func(r *queueRun) bool { return r.item.project == p }) >= *p.most
}

// holds returns what holds a pending run back, apart from hosts.
func (m *queueModel) holds(r *queueRun) (why []svc.HoldCode) {
	if r.NotBefore != nil {
		why = append(why, svc.HoldNotBefore)
	}
	if !r.IgnoreNeeds && len(r.item.unmet()) > 0 {
		why = append(why, svc.HoldBlocked)
	}
	if m.full(r.item.project) {
		why = append(why, svc.HoldProjectFull)
	}
	return why
}

// order returns the pending runs that are not held back, in the order of the rule, as if every host could take every
// run.
func (m *queueModel) order() []*queueRun {
	return m.inTurns(slices.DeleteFunc(slices.Clone(m.runs), func(r *queueRun) bool { return r.host != "" || len(m.holds(r)) > 0 }))
}

// next returns the run that is placed next: the first one for which a host has room. A run without room does not use
// its project's turn.
func (m *queueModel) next() *queueRun {
	fits := m.inTurns(slices.DeleteFunc(m.order(), func(r *queueRun) bool { return len(m.room(r)) == 0 }))
	if len(fits) == 0 {
		return nil
	}
	return fits[0]
}

func (m *queueModel) inTurns(left []*queueRun) (out []*queueRun) {
	turns := map[*queueProject]int{}
	for _, p := range m.projects {
		turns[p] = p.turn
	}
	for len(left) > 0 {
		next := slices.MinFunc(left, func(a, b *queueRun) int {
			return cmp.Or(b.Priority-a.Priority, turns[a.item.project]-turns[b.item.project], cmp.Compare(a.PendingSince, b.PendingSince), strings.Compare(a.ID, b.ID))
		})
		turns[next.item.project] = m.turn + 1 + len(out)
		out, left = append(out, next), slices.DeleteFunc(left, func(r *queueRun) bool { return r == next })
	}
	return out
}

// room returns the hosts that the run may be placed on.
func (m *queueModel) room(r *queueRun) (ids []string) {
	for id, most := range m.slots {
		if m.active(func(o *queueRun) bool { return o.host == id }) < *most && m.hosts[id].HasLabels(r.HostLabels) {
			ids = append(ids, id)
		}
	}
	return ids
}

// pass runs one claim pass. Each run that it places must be the next by the rule, and there must be no room for those
// that are left.
func (m *queueModel) pass() {
	if _, _, err := m.claimPass(m.ctx, false); err != nil {
		m.t.Fatalf("place: %v", err)
	}
	events, err := m.Store.EventsAfter(m.ctx, m.seen, 1<<20)
	m.must(err)
	for _, e := range events {
		m.seen = e.Seq
		if e.Topic != svc.TopicRunSpawning {
			continue
		}
		want, host := m.next(), field(e, "host_id").(string)
		if want == nil || field(e, "run_id") != want.ID || !slices.Contains(m.room(want), host) {
			m.t.Fatalf("placed %s, want %+v", e.Payload, want)
		}
		want.host = host
		m.turn++
		want.item.project.turn = m.turn
	}
	if r := m.next(); r != nil {
		m.t.Fatalf("%s waits though %v has room", r.ID, m.room(r))
	}
}

// check compares all items, the order of the queue, and the reasons why one run waits.
func (m *queueModel) check() {
	m.t.Helper()
	for _, p := range m.projects {
		m.checkItems(p)
	}
	var want, got []string
	for _, r := range m.order() {
		want = append(want, r.ID)
	}
	list, err := m.QueuedRuns(m.ctx, svc.RunFilter{}, svc.Page{Limit: 500})
	m.must(err)
	for _, r := range list.Items[:min(len(want), len(list.Items))] {
		got = append(got, r.ID)
	}
	if !slices.Equal(got, want) {
		m.t.Fatalf("the queue is %v, want %v", got, want)
	}
	r := m.aRun()
	if r == nil || r.host != "" {
		return
	}
	d, err := m.RunDetail(m.ctx, r.ID)
	m.must(err)
	codes, needs := []svc.HoldCode(nil), []string(nil)
	for _, h := range d.Waiting.Why {
		codes = append(codes, h.Code)
		if h.Code == svc.HoldBlocked {
			needs = slices.Sorted(slices.Values(h.Needs))
		}
	}
	if why := m.holds(r); !slices.Equal(codes, why) || slices.Contains(why, svc.HoldBlocked) && !slices.Equal(needs, r.item.unmet()) {
		m.t.Fatalf("%s waits: %+v, want %v for %v", r.ID, d.Waiting.Why, why, r.item.unmet())
	}
	if at := slices.Index(want, r.ID) + 1; at != value(d.Waiting.Position) {
		m.t.Fatalf("%s is number %d, want %d", r.ID, value(d.Waiting.Position), at)
	}
}

func (m *queueModel) checkItems(p *queueProject) {
	m.t.Helper()
	stored := map[string]svc.WorkItem{}
	for page := (svc.Page{Limit: 500}); ; {
		list, err := m.WorkItems(m.ctx, svc.WorkItemFilter{ProjectID: p.id}, page)
		m.must(err)
		for _, w := range list.Items {
			stored[w.ID] = w
		}
		if list.NextCursor == nil {
			break
		}
		page.Cursor = *list.NextCursor
	}
	n := 0
	for _, i := range m.items {
		if i.project != p {
			continue
		}
		n++
		needs := []string{}
		for o := range i.needs {
			needs = append(needs, o.ID)
		}
		slices.SortFunc(needs, func(a, b string) int {
			return cmp.Or(strings.Compare(stored[a].Position, stored[b].Position), strings.Compare(a, b))
		})
		w, there := stored[i.ID]
		if want := len(i.unmet()) > 0; !there || w.Blocked != want || !slices.Equal(w.Needs, needs) {
			m.t.Fatalf("%s is %+v, want the needs %v and blocked %v", i.ID, w, needs, want)
		}
	}
	if n != len(stored) {
		m.t.Fatalf("%d items are stored, want %d", len(stored), n)
	}
}

// end removes everything, so that the next model starts empty.
func (m *queueModel) end() {
	var err error
	for _, r := range m.runs {
		_, e := m.StopRun(m.ctx, r.ID)
		if err = errors.Join(err, e); r.host != "" {
			_, e = m.signal(r.Run, svc.SignalFinished)
			err = errors.Join(err, e)
		}
	}
	m.must(err)
}
