package engine

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"svc"
	"svc/hub"
	"svc/store"
)

// itemModel keeps the work items of some projects as plain data. The engine's results must match it.
type itemModel struct {
	e        *Engine
	ctx      context.Context
	projects []string
	archived map[string]bool
	order    map[string][]string // per project, including deleted items
	items    map[string]*modelItem
	ids      []string // of all items, in the order of creation
	active   map[string]string
	told     []string // the topics that must be journaled next
	seen     int64
}

type modelItem struct {
	svc.WorkItem
	parent  string
	deleted bool
}

func TestWorkItemsAgreeWithAModel(t *testing.T) {
	t.Parallel()
	st, err := store.Open(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "svc.db"), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	e, err := New(t.Context(), Config{Store: st, Hub: hub.New(t.TempDir(), log), Log: log, SigningKey: []byte("0123456789abcdef")})
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(rt *rapid.T) {
		m := &itemModel{e: e, ctx: t.Context(), archived: map[string]bool{}, order: map[string][]string{}, items: map[string]*modelItem{}, active: map[string]string{}}
		for range 2 {
			p, err := e.CreateProject(m.ctx, svc.NewProject{Name: "p"})
			if err != nil {
				rt.Fatal(err)
			}
			m.projects = append(m.projects, p.ID)
		}
		if m.seen, _, err = st.JournalEnds(m.ctx); err != nil {
			rt.Fatal(err)
		}
		rt.Repeat(map[string]func(*rapid.T){
			"create":  m.create,
			"create2": m.create, // so that creates are more frequent than deletions
			"patch":   m.patch,
			"move":    m.move,
			"run":     m.run,
			"stop":    m.stop,
			"delete":  m.delete,
			"archive": m.archive,
			"":        m.check,
		})
	})
}

// some draws an item, or sometimes an id that does not exist.
func (m *itemModel) some(t *rapid.T, label string) string {
	if len(m.ids) == 0 || rapid.IntRange(0, 15).Draw(t, label+" unknown") == 0 {
		return svc.NewID()
	}
	return rapid.SampledFrom(m.ids).Draw(t, label)
}

// live returns an item if it is not deleted.
func (m *itemModel) live(id string) (*modelItem, bool) {
	i, ok := m.items[id]
	return i, ok && !i.deleted
}

func (m *itemModel) path(id string) string {
	if p := m.items[id].parent; p != "" {
		return m.path(p) + "/" + id
	}
	return id
}

func (m *itemModel) below(id, root string) bool {
	return strings.HasPrefix(m.path(id)+"/", m.path(root)+"/")
}

func (m *itemModel) tell(topic svc.Topic, id string) { m.told = append(m.told, string(topic)+" "+id) }

func wantCode(t *rapid.T, what string, err error, want svc.Code) {
	if got := svc.CodeOf(err); got != want {
		t.Fatalf("%s: code %q, want %q (%v)", what, got, want, err)
	}
}

func (m *itemModel) create(t *rapid.T) {
	n := svc.NewWorkItem{ProjectID: rapid.SampledFrom(m.projects).Draw(t, "project"), Title: "t",
		Kind:   rapid.SampledFrom([]svc.Kind{svc.KindTask, svc.KindEpic}).Draw(t, "kind"),
		Status: rapid.SampledFrom([]svc.ItemStatus{"", svc.ItemTodo, svc.ItemDone}).Draw(t, "status")}
	if rapid.IntRange(0, 3).Draw(t, "root") > 0 {
		n.ParentID = ptr(m.some(t, "parent"))
	}
	want := svc.Code("")
	switch {
	case m.archived[n.ProjectID]:
		want = svc.CodeProjectArchived
	case n.ParentID != nil:
		if parent, ok := m.live(*n.ParentID); !ok || parent.ProjectID != n.ProjectID {
			want = svc.CodeValidation
		}
	}
	got, err := m.e.CreateWorkItem(m.ctx, n)
	wantCode(t, "create", err, want)
	if want != "" {
		return
	}
	i := &modelItem{WorkItem: svc.WorkItem{ID: got.ID, ProjectID: n.ProjectID, Kind: n.Kind, Title: n.Title, Status: svc.ItemTodo,
		StatusSource: svc.SourceByHand, Version: 1}}
	if n.Status != "" {
		i.mark(n.Status, nil)
	}
	if n.ParentID != nil {
		i.parent = *n.ParentID
	}
	m.items[got.ID] = i
	m.ids = append(m.ids, got.ID)
	m.order[n.ProjectID] = append(m.order[n.ProjectID], got.ID)
	m.tell(svc.TopicItemCreated, got.ID)
}

func (i *modelItem) mark(to svc.ItemStatus, c *svc.Confidence) {
	i.Status, i.StatusSource, i.Confidence = to, svc.SourceByHand, nil
	if to == svc.ItemDone {
		if c == nil {
			c = ptr(svc.Certain)
		}
		i.Confidence = c
	}
}

func (m *itemModel) patch(t *rapid.T) {
	var p svc.WorkItemPatch
	if rapid.Bool().Draw(t, "retitle") {
		p.Title = ptr(rapid.SampledFrom([]string{"t", "u", ""}).Draw(t, "title"))
	}
	if rapid.Bool().Draw(t, "mark") {
		p.Status = ptr(rapid.SampledFrom([]svc.ItemStatus{svc.ItemTodo, svc.ItemDone, svc.ItemCancelled, "open"}).Draw(t, "status"))
	}
	if rapid.IntRange(0, 3).Draw(t, "sure") == 0 {
		p.Confidence = ptr(rapid.SampledFrom([]svc.Confidence{svc.Certain, svc.Unsure}).Draw(t, "confidence"))
	}
	m.update(t, p)
}

func (m *itemModel) move(t *rapid.T) {
	var p svc.WorkItemPatch
	switch rapid.IntRange(0, 3).Draw(t, "where") {
	case 0:
		p.Parent = &svc.ParentChange{}
	case 1, 2:
		p.Parent = &svc.ParentChange{ID: ptr(m.some(t, "parent"))}
	}
	switch rapid.IntRange(0, 2).Draw(t, "beside") {
	case 0:
		p.Before = ptr(m.some(t, "before"))
	case 1:
		p.After = ptr(m.some(t, "after"))
	}
	if rapid.IntRange(0, 3).Draw(t, "retitle") == 0 { // several changes in one patch: all or none are applied
		p.Title = ptr("moved")
	}
	m.update(t, p)
}

func (m *itemModel) update(t *rapid.T, p svc.WorkItemPatch) {
	id := m.some(t, "item")
	var match Match
	stale := false
	if i, ok := m.live(id); ok && rapid.IntRange(0, 4).Draw(t, "match") == 0 {
		stale = rapid.Bool().Draw(t, "stale")
		match = ptr(i.Version)
		if stale {
			*match++
		}
	}
	want := m.judge(id, p, stale)
	_, err := m.e.UpdateWorkItem(m.ctx, id, p, match)
	wantCode(t, fmt.Sprintf("update of %s", id), err, want)
	if want == "" {
		m.change(m.items[id], p)
	}
}

// judge returns the code that the engine must return for a patch.
func (m *itemModel) judge(id string, p svc.WorkItemPatch, stale bool) svc.Code {
	i, ok := m.live(id)
	switch {
	case !ok:
		return svc.CodeNotFound
	case m.archived[i.ProjectID]:
		return svc.CodeProjectArchived
	case stale:
		return svc.CodePrecondition
	case p.Title != nil && *p.Title == "", p.Status != nil && *p.Status == "open",
		p.Confidence != nil && (p.Status == nil || *p.Status != svc.ItemDone):
		return svc.CodeValidation
	}
	if p.Parent != nil && p.Parent.ID != nil {
		parent, ok := m.live(*p.Parent.ID)
		if !ok || parent.ProjectID != i.ProjectID || m.below(parent.ID, id) {
			return svc.CodeValidation
		}
	}
	for _, target := range []*string{p.Before, p.After} {
		if target == nil {
			continue
		}
		if other, ok := m.live(*target); !ok || other.ProjectID != i.ProjectID || *target == id {
			return svc.CodeValidation
		}
	}
	return ""
}

// change applies a valid patch to the model.
func (m *itemModel) change(i *modelItem, p svc.WorkItemPatch) {
	var topics []svc.Topic
	if p.Parent != nil && value(p.Parent.ID) != i.parent {
		for _, id := range m.ids { // including deleted ones
			if id != i.ID && m.below(id, i.ID) {
				m.items[id].Version++
			}
		}
		i.parent = value(p.Parent.ID)
		topics = append(topics, svc.TopicItemReparented)
	}
	updated := m.reorder(i, p)
	if p.Title != nil && *p.Title != i.Title {
		i.Title, updated = *p.Title, true
	}
	if p.Status != nil {
		before := i.WorkItem
		i.mark(*p.Status, p.Confidence)
		if before.Status != i.Status || value(before.Confidence) != value(i.Confidence) {
			topics = append(topics, svc.TopicItemStatus)
		}
	}
	if updated {
		topics = append(topics, svc.TopicItemUpdated)
	}
	for _, topic := range topics {
		m.tell(topic, i.ID)
	}
	if len(topics) > 0 || p.Status != nil { // a status that a person sets counts even if it stays the same
		i.Version++
	}
}

// reorder moves an item in the model, and reports whether its position changed.
func (m *itemModel) reorder(i *modelItem, p svc.WorkItemPatch) bool {
	target, step := p.Before, 0
	if target == nil {
		target, step = p.After, 1
	}
	if target == nil {
		return false
	}
	order := m.order[i.ProjectID]
	without := slices.DeleteFunc(slices.Clone(order), func(id string) bool { return id == i.ID })
	moved := slices.Insert(without, slices.Index(without, *target)+step, i.ID)
	m.order[i.ProjectID] = moved
	return !slices.Equal(order, moved)
}

func (m *itemModel) run(t *rapid.T) {
	id := m.some(t, "task")
	i, ok := m.live(id)
	want := svc.Code("")
	switch {
	case !ok:
		want = svc.CodeValidation
	case !i.Kind.Runnable():
		want = svc.CodeInvalidTaskKind
	case m.archived[i.ProjectID]:
		want = svc.CodeProjectArchived
	}
	r, err := m.e.CreateRun(m.ctx, svc.NewRun{TaskID: id, Provider: "provider_a"})
	wantCode(t, "run", err, want)
	if want == "" {
		m.active[r.ID] = id
		m.tell(svc.TopicRunCreated, id)
	}
}

func (m *itemModel) stop(t *rapid.T) {
	for _, run := range slices.Sorted(keysOf(m.active)) {
		_, err := m.e.StopRun(m.ctx, run)
		wantCode(t, "stop", err, "")
		m.tell(svc.TopicRunStopped, m.active[run])
		delete(m.active, run)
		return
	}
}

func keysOf[V any](m map[string]V) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

func (m *itemModel) delete(t *rapid.T) {
	id, recursive := m.some(t, "item"), rapid.Bool().Draw(t, "recursive")
	want := svc.Code("")
	var gone []string
	if i, ok := m.live(id); !ok {
		want = svc.CodeNotFound
	} else if m.archived[i.ProjectID] {
		want = svc.CodeProjectArchived
	} else {
		gone = []string{id}
		for _, other := range m.order[i.ProjectID] {
			if _, ok := m.live(other); ok && other != id && m.below(other, id) {
				gone = append(gone, other)
			}
		}
		if len(gone) > 1 && !recursive {
			want = svc.CodeHasChildren
		}
		for _, task := range m.active {
			if m.below(task, id) {
				want = svc.CodeActiveRuns
			}
		}
	}
	wantCode(t, "delete", m.e.DeleteWorkItem(m.ctx, id, recursive, false, nil), want)
	if want != "" {
		return
	}
	for _, g := range gone {
		m.items[g].deleted = true
		m.items[g].Version++
		m.tell(svc.TopicItemDeleted, g)
	}
}

func (m *itemModel) archive(t *rapid.T) {
	if rapid.IntRange(0, 9).Draw(t, "really") > 0 {
		t.Skip("too early")
	}
	p := rapid.SampledFrom(m.projects).Draw(t, "project")
	_, err := m.e.ArchiveProject(m.ctx, p, nil)
	wantCode(t, "archive", err, "")
	if !m.archived[p] {
		m.archived[p] = true
		m.tell(svc.TopicProjectArchived, p)
	}
}

// check compares everything that is visible through the engine.
func (m *itemModel) check(t *rapid.T) {
	events, err := m.e.Store.EventsAfter(m.ctx, m.seen, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	for _, e := range events {
		id := field(e, "task_id")
		if id == nil {
			id = field(e, "project_id")
		}
		told = append(told, fmt.Sprint(e.Topic, " ", id))
		m.seen = e.Seq
	}
	if !slices.Equal(told, m.told) {
		t.Fatalf("journaled %q, want %q", told, m.told)
	}
	m.told = nil
	for _, p := range m.projects {
		list, err := m.e.WorkItems(m.ctx, svc.WorkItemFilter{ProjectID: p}, svc.Page{Limit: svc.MaxLimit})
		if err != nil {
			t.Fatal(err)
		}
		var want []string
		for _, id := range m.order[p] {
			if i, ok := m.live(id); ok {
				want = append(want, fmt.Sprint(m.path(id), " ", i.Title, " ", i.Status, " ", i.StatusSource, " ", value(i.Confidence), " ", i.Version, " ", i.parent))
			}
		}
		var got []string
		for _, i := range list.Items {
			got = append(got, fmt.Sprint(i.Path, " ", i.Title, " ", i.Status, " ", i.StatusSource, " ", value(i.Confidence), " ", i.Version, " ", value(i.ParentID)))
		}
		if !slices.Equal(got, want) {
			t.Fatalf("the project holds\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}
