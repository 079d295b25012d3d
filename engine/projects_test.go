package engine

import (
	"strings"
	"sync"
	"testing"

	"svc"
)

func TestLifeOfAProject(t *testing.T) {
	bubble(t, func(s *site) {
		p, err := s.CreateProject(s.ctx, svc.NewProject{Name: "One", Description: "d", Cwd: "/srv"})
		s.no(err)
		if p.Status != svc.ProjectActive || p.Slug != "one" || p.ArchivedAt != nil || p.CreatedAt != s.now() || p.UpdatedAt != s.now() {
			t.Errorf("made %+v", p)
		}
		if e := s.wantTopics(svc.TopicProjectCreated)[0]; field(e, "project_id") != p.ID {
			t.Errorf("journaled %s", e.Payload)
		}
		got, err := s.UpdateProject(s.ctx, "one", svc.ProjectPatch{Name: ptr("Uno"), Slug: ptr("uno")}, nil)
		if err != nil || got.ID != p.ID || got.Name != "Uno" || got.Slug != "uno" || got.Description != "d" || got.Cwd != "/srv" {
			t.Errorf("changed to %+v (%v)", got, err)
		}
		if e := s.wantTopics(svc.TopicProjectUpdated)[0]; field(e, "project_id") != p.ID || field(e, "slug") != "uno" {
			t.Errorf("journaled %s", e.Payload)
		}
		for _, name := range []string{p.ID, "uno"} {
			if found, err := s.Project(s.ctx, name); err != nil || found != got {
				t.Errorf("%s is %+v (%v)", name, found, err)
			}
		}
		_, err = s.Project(s.ctx, "one")
		s.wantCode("the old slug", err, svc.CodeNotFound)
		for range 2 {
			got, err = s.ArchiveProject(s.ctx, "uno", nil)
			if err != nil || got.Status != svc.ProjectArchived || got.ArchivedAt == nil || *got.ArchivedAt != s.now() {
				t.Errorf("archived as %+v (%v)", got, err)
			}
		}
		s.wantTopics(svc.TopicProjectArchived) // once
		list, err := s.Projects(s.ctx, svc.Page{Limit: 10})
		if err != nil || len(list.Items) != 1 || list.Items[0].Status != svc.ProjectArchived {
			t.Errorf("listed %+v (%v)", list.Items, err)
		}
	})
}

func TestAnArchivedProjectIsReadAndNotWritten(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.online("h")
		p := s.project()
		item := s.task(p)
		r := w.started(s.run(func(n *svc.NewRun) { n.TaskID = item.ID }))
		_, err := s.ArchiveProject(s.ctx, p.ID, nil)
		s.no(err)
		s.news()
		_, err = s.UpdateProject(s.ctx, p.ID, svc.ProjectPatch{Name: ptr("x")}, nil)
		s.wantCode("a change of the project", err, svc.CodeProjectArchived)
		_, err = s.CreateWorkItem(s.ctx, svc.NewWorkItem{ProjectID: p.ID, Kind: svc.KindTask, Title: "t"})
		s.wantCode("a new item", err, svc.CodeProjectArchived)
		_, err = s.UpdateWorkItem(s.ctx, item.ID, svc.WorkItemPatch{Status: ptr(svc.ItemDone)}, nil)
		s.wantCode("a change of an item", err, svc.CodeProjectArchived)
		s.wantCode("a delete of an item", s.DeleteWorkItem(s.ctx, item.ID, true, false, nil), svc.CodeProjectArchived)
		_, err = s.CreateRun(s.ctx, svc.NewRun{TaskID: item.ID, Provider: "provider_a"})
		s.wantCode("a new run", err, svc.CodeProjectArchived)
		s.wantTopics()
		if got, err := s.WorkItem(s.ctx, item.ID); err != nil || got.Version != 1 {
			t.Errorf("the item is %+v (%v)", got, err)
		}
		s.want(svc.Applied)(s.signal(r, svc.SignalProgress, byHook, seq(1))) // its runs continue
		_, err = s.StopRun(s.ctx, r.ID)
		s.no(err)
		s.want(svc.Applied)(s.signal(r, svc.SignalFinished))
		s.wantTopics(svc.TopicRunSignal, svc.TopicRunStopped, svc.TopicRunFinished)
	})
}

func TestASlugIsFreeOrGetsANumber(t *testing.T) {
	bubble(t, func(s *site) {
		long := strings.Repeat("a", 200)
		for _, c := range [][2]string{{"Plan", "plan"}, {"Plan", "plan-2"}, {"plan!", "plan-3"}, {"项目计划", "project"}, {"🚀🚀", "project-2"},
			{long, long[:64]}, {long, long[:62] + "-2"}, {long, long[:62] + "-3"}} {
			p, err := s.CreateProject(s.ctx, svc.NewProject{Name: c[0]})
			if err != nil || p.Slug != c[1] {
				t.Errorf("%.20s got the slug %s (%v), want %s", c[0], p.Slug, err, c[1])
			}
		}
		s.news()
		_, err := s.CreateProject(s.ctx, svc.NewProject{Name: "x", Slug: "plan-2"})
		s.wantCode("a slug that is taken", err, svc.CodeConflict)
		_, err = s.UpdateProject(s.ctx, "plan", svc.ProjectPatch{Slug: ptr("plan-2")}, nil)
		s.wantCode("a change to a slug that is taken", err, svc.CodeConflict)
		_, err = s.UpdateProject(s.ctx, "plan", svc.ProjectPatch{Slug: ptr("plan")}, nil)
		s.wantCode("a change to its own slug", err, "")
		list, err := s.Projects(s.ctx, svc.Page{Limit: 100})
		if err != nil || len(list.Items) != 8 {
			t.Errorf("%d projects (%v), want the eight", len(list.Items), err)
		}
		s.wantTopics()
	})
}

func TestProjectsOfOneNameMadeAtOnceHaveSlugsOfTheirOwn(t *testing.T) {
	bubble(t, func(s *site) {
		var mu sync.Mutex
		var wg sync.WaitGroup
		slugs := map[string]bool{}
		for range 20 {
			wg.Go(func() {
				p, err := s.CreateProject(s.ctx, svc.NewProject{Name: "Same"})
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					t.Error(err)
				}
				slugs[p.Slug] = true
			})
		}
		wg.Wait()
		if len(slugs) != 20 || !slugs["same"] || !slugs["same-20"] {
			t.Errorf("the slugs are %v", slugs)
		}
	})
}
