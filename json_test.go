package svc_test

import (
	"reflect"
	"testing"

	"svc"
)

func TestParseErrorKnowsTheOrchestratorsOwnAnswers(t *testing.T) {
	t.Parallel()
	got, ours := svc.ParseError([]byte(`{"error":{"code":"conflict","message":"it moved","details":{"version":7}},"later":1}`))
	want := &svc.Error{Code: svc.CodeConflict, Message: "it moved", Details: map[string]any{"version": 7.0}}
	if !ours || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v; want %+v", got, ours, want)
	}
	for _, body := range []string{"", "<html>", "[]", `{"error":"no"}`, `{"error":{"message":"no code"}}`, `{"error":{"code":"not_found"}}`} {
		if got, ours := svc.ParseError([]byte(body)); ours || got != nil {
			t.Errorf("%q was taken for the orchestrator's: %+v", body, got)
		}
	}
}
