package svc_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"svc"
)

var (
	id      = "0190a6b2-0000-7000-8000-000000000001"
	wide    = func(n int) string { return strings.Repeat("ü", n) }
	newRun  = svc.NewRun{TaskID: id, Provider: "provider_a"}
	newItem = svc.NewWorkItem{ProjectID: id, Kind: svc.KindTask, Title: "t"}
	signal  = svc.Signal{Kind: svc.SignalStarted, Source: svc.FromWrapper}
)

func with[T any](v T, change func(*T)) T {
	change(&v)
	return v
}

type validator interface{ Validate() error }

// Each input is invalid in exactly the named fields; without names it is valid.
func TestValidationNamesTheField(t *testing.T) {
	t.Parallel()
	labels := map[string]string{}
	for i := range 101 {
		labels[strings.Repeat("k", i+1)] = ""
	}
	for name, c := range map[string]struct {
		input  validator
		fields string
	}{
		"project":                       {svc.NewProject{Name: "n"}, ""},
		"project of 200 characters":     {svc.NewProject{Name: wide(200)}, ""},
		"project of 201 characters":     {svc.NewProject{Name: wide(201)}, "name"},
		"project without name":          {svc.NewProject{}, "name"},
		"project with a blank name":     {svc.NewProject{Name: " \u00a0"}, "name"},
		"project with a line break":     {svc.NewProject{Name: "a\nb"}, "name"},
		"project with a NUL":            {svc.NewProject{Name: "a\x00b"}, "name"},
		"project with bad UTF-8":        {svc.NewProject{Name: "a\xffb"}, "name"},
		"project with a slug":           {svc.NewProject{Name: "n", Slug: "a-1"}, ""},
		"project with a bad slug":       {svc.NewProject{Name: "n", Slug: "A"}, "slug"},
		"project with a long slug":      {svc.NewProject{Name: "n", Slug: strings.Repeat("a", 65)}, "slug"},
		"project with a line in slug":   {svc.NewProject{Name: "n", Slug: "a\n"}, "slug"},
		"project, 64 KiB description":   {svc.NewProject{Name: "n", Description: strings.Repeat("d", 64<<10)}, ""},
		"project, longer description":   {svc.NewProject{Name: "n", Description: strings.Repeat("d", 64<<10+1)}, "description"},
		"project, NUL in description":   {svc.NewProject{Name: "n", Description: "\x00"}, "description"},
		"project with a long cwd":       {svc.NewProject{Name: "n", Cwd: strings.Repeat("/", 4097)}, "cwd"},
		"project wrong in everything":   {svc.NewProject{Slug: "Ä", Description: "\x00", Cwd: "\n"}, "cwd description name slug"},
		"patch of nothing":              {svc.ProjectPatch{}, ""},
		"patch to no name":              {svc.ProjectPatch{Name: ptr("")}, "name"},
		"patch to an empty slug":        {svc.ProjectPatch{Slug: ptr("")}, "slug"},
		"item":                          {newItem, ""},
		"item without project":          {with(newItem, func(n *svc.NewWorkItem) { n.ProjectID = "" }), "project_id"},
		"item with an id in upper case": {with(newItem, func(n *svc.NewWorkItem) { n.ProjectID = strings.ToUpper(id) }), "project_id"},
		"item with a bad parent":        {with(newItem, func(n *svc.NewWorkItem) { n.ParentID = ptr("x") }), "parent_id"},
		"item of an unknown kind":       {with(newItem, func(n *svc.NewWorkItem) { n.Kind = "story" }), "kind"},
		"item of no kind":               {with(newItem, func(n *svc.NewWorkItem) { n.Kind = "" }), "kind"},
		"item without title":            {with(newItem, func(n *svc.NewWorkItem) { n.Title = "" }), "title"},
		"item, 500 characters":          {with(newItem, func(n *svc.NewWorkItem) { n.Title = wide(500) }), ""},
		"item, 501 characters":          {with(newItem, func(n *svc.NewWorkItem) { n.Title = wide(501) }), "title"},
		"item, 64 KiB":                  {with(newItem, func(n *svc.NewWorkItem) { n.Description = strings.Repeat("d", 64<<10+1) }), "description"},
		"item with an unknown status":   {with(newItem, func(n *svc.NewWorkItem) { n.Status = "open" }), "status"},
		"item patch":                    {svc.WorkItemPatch{Title: ptr("t"), Status: ptr(svc.ItemDone), Confidence: ptr(svc.Likely)}, ""},
		"confidence alone":              {svc.WorkItemPatch{Confidence: ptr(svc.Likely)}, "confidence"},
		"confidence of doing":           {svc.WorkItemPatch{Status: ptr(svc.ItemDoing), Confidence: ptr(svc.Likely)}, "confidence"},
		"an unknown confidence":         {svc.WorkItemPatch{Status: ptr(svc.ItemDone), Confidence: ptr(svc.Confidence("sure"))}, "confidence"},
		"no status":                     {svc.WorkItemPatch{Status: ptr(svc.ItemStatus(""))}, "status"},
		"a bad parent":                  {svc.WorkItemPatch{Parent: &svc.ParentChange{ID: ptr("x")}}, "parent_id"},
		"to the root":                   {svc.WorkItemPatch{Parent: &svc.ParentChange{}}, ""},
		"a bad before":                  {svc.WorkItemPatch{Before: ptr("x")}, "before"},
		"a bad after":                   {svc.WorkItemPatch{After: ptr("x")}, "after"},
		"before and after":              {svc.WorkItemPatch{Before: &id, After: &id}, ""}, // only their rows show whether the order is possible
		"run":                           {newRun, ""},
		"run without task":              {with(newRun, func(n *svc.NewRun) { n.TaskID = "" }), "task_id"},
		"run without provider":          {svc.NewRun{TaskID: id}, ""},
		"run of two tasks":              {with(newRun, func(n *svc.NewRun) { n.Task = &svc.NewWorkItem{} }), "task"},
		"run with a bad host":           {with(newRun, func(n *svc.NewRun) { n.HostID = ptr("") }), "host_id"},
		"run with a large prompt":       {with(newRun, func(n *svc.NewRun) { n.Prompt = strings.Repeat("p", 1<<20+1) }), "prompt"},
		"run with a NUL in its prompt":  {with(newRun, func(n *svc.NewRun) { n.Prompt = "\x00" }), "prompt"},
		"run with many args":            {with(newRun, func(n *svc.NewRun) { n.Args = make([]string, 1001) }), "args"},
		"run with a NUL in an arg":      {with(newRun, func(n *svc.NewRun) { n.Args = []string{"", "\x00"} }), "args"},
		"run with a long model":         {with(newRun, func(n *svc.NewRun) { n.Model = wide(201) }), "model"},
		"run with a line in cwd":        {with(newRun, func(n *svc.NewRun) { n.Cwd = "/a\n" }), "cwd"},
		"run with env":                  {with(newRun, func(n *svc.NewRun) { n.Env = map[string]string{"A": "multi\nline"} }), ""},
		"run with a nameless variable":  {with(newRun, func(n *svc.NewRun) { n.Env = map[string]string{"": "v"} }), "env"},
		"run with = in a variable":      {with(newRun, func(n *svc.NewRun) { n.Env = map[string]string{"A=B": "v"} }), "env"},
		"run with our own variable":     {with(newRun, func(n *svc.NewRun) { n.Env = map[string]string{"SVC_RUN_ID": "v"} }), "env"},
		"run with a NUL in a value":     {with(newRun, func(n *svc.NewRun) { n.Env = map[string]string{"A": "\x00"} }), "env"},
		"run with an unknown policy":    {with(newRun, func(n *svc.NewRun) { n.RestartPolicy = "sometimes" }), "restart_policy"},
		"run with no restarts":          {with(newRun, func(n *svc.NewRun) { n.MaxRestarts = ptr(0) }), ""},
		"run with negative restarts":    {with(newRun, func(n *svc.NewRun) { n.MaxRestarts = ptr(-1) }), "max_restarts"},
		"run with too many restarts":    {with(newRun, func(n *svc.NewRun) { n.MaxRestarts = ptr(1_000_001) }), "max_restarts"},
		"host":                          {svc.NewHost{Name: "h", Labels: map[string]string{"zone": ""}, MaxRuns: ptr(0)}, ""},
		"host without name":             {svc.NewHost{}, "name"},
		"host, negative max_runs":       {svc.NewHost{Name: "h", MaxRuns: ptr(-1)}, "max_runs"},
		"host, large max_runs":          {svc.NewHost{Name: "h", MaxRuns: ptr(100_001)}, "max_runs"},
		"host with a nameless label":    {svc.NewHost{Name: "h", Labels: map[string]string{"": "v"}}, "labels"},
		"host with a long label":        {svc.NewHost{Name: "h", Labels: map[string]string{"k": wide(501)}}, "labels"},
		"host with many labels":         {svc.NewHost{Name: "h", Labels: labels}, "labels"},
		"host patch to no limit":        {svc.HostPatch{MaxRuns: &svc.MaxRunsChange{}}, ""},
		"signal":                        {signal, ""},
		"signal of an unknown kind":     {with(signal, func(s *svc.Signal) { s.Kind = "Started" }), "kind"},
		"signal of a person":            {with(signal, func(s *svc.Signal) { s.Source = svc.FromUser }), "source"},
		"finished with a huge code":     {with(signal, func(s *svc.Signal) { s.Kind, s.ExitCode = svc.SignalFinished, 1<<31 }), "payload.exit_code"},
		"completed without result":      {with(signal, func(s *svc.Signal) { s.Kind = svc.SignalCompleted }), "payload.result"},
		"partial success, no reason":    {with(signal, func(s *svc.Signal) { s.Kind, s.Result = svc.SignalCompleted, svc.ResultPartialSuccess }), "payload.reason"},
		"percent 255":                   {with(signal, func(s *svc.Signal) { s.Kind, s.Percent = svc.SignalProgress, ptr(255) }), ""},
		"percent 256":                   {with(signal, func(s *svc.Signal) { s.Kind, s.Percent = svc.SignalProgress, ptr(256) }), "payload.percent"},
		"percent -1":                    {with(signal, func(s *svc.Signal) { s.Kind, s.Percent = svc.SignalProgress, ptr(-1) }), "payload.percent"},
		"failed with a NUL":             {with(signal, func(s *svc.Signal) { s.Kind, s.Error = svc.SignalFailed, "\x00" }), "payload.error"},
		"a message over 64 KiB":         {with(signal, func(s *svc.Signal) { s.Kind, s.Message = svc.SignalProgress, strings.Repeat("m", 64<<10+1) }), "payload.message"},
	} {
		err := c.input.Validate()
		if c.fields == "" {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		var e *svc.Error
		if !errors.As(err, &e) || e.Code != svc.CodeValidation {
			t.Errorf("%s: %v, want an error about %s", name, err, c.fields)
			continue
		}
		fields := e.Details["fields"].(map[string]any)
		if got := strings.Join(slices.Sorted(maps.Keys(fields)), " "); got != c.fields {
			t.Errorf("%s: the error is about %q, want %q", name, got, c.fields)
		}
		for f := range fields {
			if !strings.Contains(e.Message, f) {
				t.Errorf("%s: the message does not name %s: %s", name, f, e.Message)
			}
		}
	}
}

func TestErrorsCarryDetailsAndHideTheirCause(t *testing.T) {
	t.Parallel()
	base := svc.Errorf(svc.CodeConflict, "taken %d", 1)
	one := base.With("a", 1)
	two := one.With("b", 2)
	if base.Details != nil || len(one.Details) != 1 || len(two.Details) != 2 {
		t.Errorf("details leak: %v %v %v", base.Details, one.Details, two.Details)
	}
	caused := two.Because(svc.NotFound("run", "x"))
	if svc.CodeOf(caused) != svc.CodeConflict || caused.Message != "taken 1" || !strings.Contains(caused.Error(), `no run "x"`) {
		t.Errorf("caused: %v", caused)
	}
	if svc.CodeOf(nil) != "" || svc.CodeOf(strings.NewReader("").UnreadByte()) != svc.CodeInternal {
		t.Error("codes of nil and of a foreign error are wrong")
	}
}

func TestMarkByHand(t *testing.T) {
	t.Parallel()
	w := svc.WorkItem{Status: svc.ItemTodo, StatusSource: svc.SourceBySignal}
	w.MarkByHand(svc.ItemDone, nil)
	if w.Status != svc.ItemDone || *w.Confidence != svc.Certain || w.StatusSource != svc.SourceByHand || w.ManualMarks != 1 {
		t.Errorf("done: %+v", w)
	}
	w.MarkByHand(svc.ItemDone, ptr(svc.Unsure))
	if *w.Confidence != svc.Unsure || w.ManualMarks != 2 {
		t.Errorf("done again: %+v", w)
	}
	w.MarkByHand(svc.ItemDoing, ptr(svc.Unsure))
	if w.Confidence != nil || w.ManualMarks != 3 {
		t.Errorf("doing: %+v", w)
	}
}

func TestIDs(t *testing.T) {
	t.Parallel()
	sessions := map[string]bool{}
	for range 300 {
		run := svc.NewRunID()
		if !svc.IsID(run) || !svc.IsID(svc.NewID()) || run[14] != '4' {
			t.Fatalf("run id %s", run)
		}
		name := svc.SessionName(run)
		if name != "svc-"+run[:8] || sessions[name] {
			t.Fatalf("session name %s", name)
		}
		sessions[name] = true
	}
	for _, bad := range []string{"", id[1:], id + "\n", strings.ToUpper(id[:9]) + "A" + id[10:], strings.ReplaceAll(id, "-", "")} {
		if svc.IsID(bad) {
			t.Errorf("%q passes as an id", bad)
		}
	}
}
