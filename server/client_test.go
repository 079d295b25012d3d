package server

import (
	"testing"

	"svc"
	"svc/api"
)

func TestTheClientDoesWhatAPersonDoes(t *testing.T) {
	t.Parallel()
	g, ctx := newRig(t), t.Context()
	c := g.client()
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	p, err := c.CreateProject(ctx, api.CreateProject{Name: "Big Plan", Cwd: api.Some("/srv")})
	ok(err)
	p, err = c.UpdateProject(ctx, p.Slug, api.PatchProject{Description: api.Some("d")})
	ok(err)
	if p.Slug != "big-plan" || p.Description != "d" || p.Cwd != "/srv" {
		t.Errorf("got %+v", p)
	}
	epic, err := c.CreateWorkItem(ctx, api.CreateWorkItem{ProjectID: p.ID, Kind: svc.KindEpic, Title: "E"})
	ok(err)
	task, err := c.CreateWorkItem(ctx, api.CreateWorkItem{ProjectID: p.ID, Kind: svc.KindTask, Title: "T", ParentID: api.Some(epic.ID)})
	ok(err)
	task, err = c.UpdateWorkItem(ctx, task.ID, api.PatchWorkItem{ParentID: api.Null[string](), Status: api.Some(svc.ItemDone)})
	ok(err)
	if task.ParentID != nil || task.Path != task.ID || *task.Confidence != svc.Certain {
		t.Errorf("got %+v", task)
	}
	roots := 0
	for _, err := range c.AllWorkItems(ctx, svc.WorkItemFilter{ProjectID: p.ID, Parent: &svc.ParentChange{}, Kinds: []svc.Kind{svc.KindTask, svc.KindEpic}}) {
		ok(err)
		roots++
	}
	if roots != 2 {
		t.Errorf("got %d roots", roots)
	}
	_, err = c.CreateHost(ctx, api.CreateHost{Name: "build-1", MaxRuns: api.Some(2)})
	ok(err)
	h, err := c.UpdateHost(ctx, "build-1", api.PatchHost{MaxRuns: api.Null[int]()})
	ok(err)
	h, err = c.DisableHost(ctx, h.Name)
	ok(err)
	if h.MaxRuns != nil || h.Status != svc.HostDisabled {
		t.Errorf("got %+v", h)
	}
	_, err = c.EnableHost(ctx, h.ID)
	ok(err)
	_, err = c.ClearSuspect(ctx, h.ID)
	ok(err)
	first, err := c.HostToken(ctx, h.Name)
	ok(err)
	if again, err := c.HostToken(ctx, h.ID); err != nil || again != first || first == "" {
		t.Errorf("got %q, then %q, %v", first, again, err)
	}
	r, err := c.CreateRun(ctx, api.CreateRun{TaskID: task.ID, Provider: "provider_b", HostID: api.Some(h.ID)})
	ok(err)
	if err := c.SendKeys(ctx, r.ID, []string{"Enter"}); svc.CodeOf(err) != svc.CodeRunNotRunning {
		t.Errorf("keys: got %v", err)
	}
	if _, err := c.Pane(ctx, r.ID); svc.CodeOf(err) != svc.CodeNoSnapshot {
		t.Errorf("pane: got %v", err)
	}
	if _, err := c.Attach(ctx, r.ID); svc.CodeOf(err) != svc.CodeRunNotRunning {
		t.Errorf("attach: got %v", err)
	}
	socket, err := c.WatchPane(ctx, r.ID)
	ok(err)
	_ = socket.CloseNow()
	log, err := c.Logs(ctx, r.ID, api.LogOptions{Format: "text"})
	ok(err)
	_ = log.Close()
	r, err = c.StopRun(ctx, r.ID)
	ok(err)
	runs, err := c.Runs(ctx, svc.RunFilter{TaskID: task.ID, Statuses: []svc.RunStatus{svc.RunStopped, svc.RunFailed}}, svc.Page{})
	ok(err)
	if r.Status != svc.RunStopped || len(runs.Items) != 1 || runs.Items[0].ID != r.ID {
		t.Errorf("got %+v", runs)
	}
	ok(c.DeleteHost(ctx, h.Name, false))
	ok(c.DeleteWorkItem(ctx, epic.ID, true, false))
	p, err = c.ArchiveProject(ctx, p.ID)
	ok(err)
	if p.Status != svc.ProjectArchived {
		t.Errorf("got %+v", p)
	}
	if _, err := c.UpdateProject(ctx, p.ID, api.PatchProject{Name: api.Some("x")}); svc.CodeOf(err) != svc.CodeProjectArchived {
		t.Errorf("got %v", err)
	}
	providers, err := c.Providers(ctx)
	ok(err)
	if len(providers) != 1 || providers[0].ID != "provider_a" || !providers[0].InCatalog {
		t.Errorf("got %+v", providers)
	}
}

func TestProvidersAreTheCatalogAndWhatWorkersReport(t *testing.T) {
	t.Parallel()
	hosts := []svc.Host{
		{ID: "h1", Name: "one", Providers: map[string]svc.ProviderReport{"a": {Available: true, Version: "1"}, "mine": {Available: true}}},
		{ID: "h2", Name: "two", Providers: map[string]svc.ProviderReport{"a": {Reason: "not installed"}, "also": {}, "b": {Preset: true}, "claude": {Preset: true}}},
	}
	got := providers([]ProviderInfo{{ID: "b"}, {ID: "a"}, {ID: "a-tui"}, {ID: "c-tui"}}, hosts, "a")
	var ids string
	for _, p := range got {
		ids += p.ID + " "
	}
	if ids != "b a a-tui c-tui also mine " {
		t.Fatalf("got %s", ids)
	}
	a := got[1]
	if len(a.Hosts) != 2 || !a.Hosts["h1"].Available || a.Hosts["h2"].Reason != "not installed" || a.Hosts["h2"].HostName != "two" || !a.InCatalog {
		t.Errorf("got %+v", a)
	}
	if len(got[0].Hosts) != 0 || got[5].InCatalog {
		t.Errorf("got %+v", got)
	}
	if tui, alone := got[2], got[3]; !a.Default || a.Interactive || a.Tool != "a" || tui.Default || !tui.Interactive || tui.Tool != "a" ||
		alone.Interactive || alone.Tool != "c-tui" {
		t.Errorf("modes: %+v, %+v, %+v", a, tui, alone)
	}
}
