package api_test

import (
	"encoding/json"
	"errors"
	"testing"

	"svc"
	"svc/api"
)

func TestOptTellsAbsentNullAndValueApart(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]api.Opt[string]{
		`{}`:                   {},
		`{"description":null}`: {Set: true, Null: true},
		`{"description":""}`:   {Set: true},
		`{"description":"x"}`:  {Set: true, Value: "x"},
	} {
		var b api.PatchProject
		if err := json.Unmarshal([]byte(body), &b); err != nil {
			t.Fatal(err)
		}
		if b.Description != want {
			t.Errorf("%s: got %+v, want %+v", body, b.Description, want)
		}
		again, err := json.Marshal(b)
		if err != nil {
			t.Fatal(err)
		}
		if string(again) != body {
			t.Errorf("written again: got %s, want %s", again, body)
		}
	}
}

func TestANullThatIsNoValueIsAProblemOfItsField(t *testing.T) {
	t.Parallel()
	_, project := api.PatchProject{Name: api.Null[string]()}.Patch()
	_, item := api.PatchWorkItem{Status: api.Null[svc.ItemStatus]()}.Patch()
	_, run := api.CreateRun{Args: api.Null[[]string]()}.New()
	_, host := api.PatchHost{Labels: api.Null[map[string]string]()}.Patch()
	for field, err := range map[string]error{"name": project, "status": item, "args": run, "labels": host} {
		var e *svc.Error
		if !errors.As(err, &e) || e.Code != svc.CodeValidation {
			t.Fatalf("%s: got %v, want a validation error", field, err)
		}
		if fields := e.Details["fields"].(map[string]any); fields[field] == nil {
			t.Errorf("got %v, want a problem of %s", fields, field)
		}
	}
}

func TestANullThatIsAValueIsKept(t *testing.T) {
	t.Parallel()
	item, err := api.PatchWorkItem{ParentID: api.Null[string]()}.Patch()
	if err != nil || item.Parent == nil || item.Parent.ID != nil {
		t.Errorf("got %+v, %v; want a move to the root", item.Parent, err)
	}
	item, err = api.PatchWorkItem{}.Patch()
	if err != nil || item.Parent != nil {
		t.Errorf("got %+v, %v; want no move", item.Parent, err)
	}
	host, err := api.PatchHost{MaxRuns: api.Null[int]()}.Patch()
	if err != nil || host.MaxRuns == nil || host.MaxRuns.Max != nil {
		t.Errorf("got %+v, %v; want the limit lifted", host.MaxRuns, err)
	}
}
