package server

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"svc"
	"svc/store"
)

func TestTheInboxIsListedSnoozedAndDismissed(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	entries := func(query string) []any {
		t.Helper()
		return g.want(http.StatusOK, "GET", "/api/v1/inbox"+query, nil).JSON["items"].([]any)
	}
	if items := entries(""); len(items) != 0 {
		t.Fatalf("the inbox of an empty installation has %v", items)
	}
	id := g.run()
	if err := g.Engine.Store.Write(t.Context(), func(tx *store.Tx) error {
		r, err := tx.LockRun(t.Context(), id)
		if err != nil {
			return err
		}
		r.Fail(svc.OnDispatchTimeout, svc.ReasonDispatchTimeout, tx.Now)
		return tx.UpdateRun(t.Context(), &r)
	}); err != nil {
		t.Fatal(err)
	}
	items := entries("")
	if len(items) != 1 {
		t.Fatalf("the inbox has %v", items)
	}
	entry := items[0].(map[string]any)
	if entry["kind"] != "failed" || entry["title"] != "T" || entry["text"] != "failed: dispatch timeout" || entry["run_id"] != id || entry["snoozed_until"] != nil {
		t.Errorf("the entry is %v", entry)
	}
	path := "/api/v1/inbox/" + entry["key"].(string)
	until := svc.TimeOf(time.Now().Add(time.Hour)).String()
	got := g.want(http.StatusOK, "POST", path+"/snooze", map[string]any{"until": until}).JSON
	if got["snoozed_until"] != until {
		t.Errorf("snoozed, it is %v", got)
	}
	if len(entries("")) != 0 || len(entries("?snoozed=true")) != 1 || len(entries("?snoozed=false")) != 0 {
		t.Error("a snoozed entry is not listed where it should be")
	}
	g.refuse(http.StatusBadRequest, "validation_failed", "POST", path+"/snooze", map[string]any{"until": "2001-01-01T00:00:00Z"})
	g.refuse(http.StatusBadRequest, "validation_failed", "POST", path+"/snooze", map[string]any{})
	g.want(http.StatusOK, "POST", path+"/dismiss", nil)
	g.want(http.StatusOK, "POST", path+"/dismiss", nil)
	if len(entries("?snoozed=true")) != 0 {
		t.Error("a dismissed entry is listed")
	}
	g.refuse(http.StatusNotFound, "not_found", "POST", "/api/v1/inbox/unknown/dismiss", nil)
	g.refuse(http.StatusBadRequest, "validation_failed", "GET", "/api/v1/inbox?cursor=x", nil)
	if topics := g.topics(); !slices.Contains(topics, "inbox.snoozed") || !slices.Contains(topics, "inbox.dismissed") {
		t.Errorf("journaled %v", topics)
	}
}
