package worker

import (
	"strings"
	"testing"

	"svc/provider"
	"svc/wire"
)

// If an entry cannot resume conversations, a run that resumes one must fail and not begin another one.
func TestAnEntryThatCannotGoOnFailsTheRun(t *testing.T) {
	t.Parallel()
	able, asked := provider.Entry{ID: "able", ResumeTemplate: []string{"{conversation}"}}, wire.Conversation{ID: "c", Resume: true}
	for _, tt := range []struct {
		name  string
		given *wire.Conversation
		entry provider.Entry
		want  wire.Conversation
		wrong string
	}{
		{"an older orchestrator", nil, able, wire.Conversation{}, ""},
		{"one of the tool's own", &wire.Conversation{}, able, wire.Conversation{}, ""},
		{"a minted one", &wire.Conversation{ID: "c"}, provider.Entry{ID: "x"}, wire.Conversation{ID: "c"}, ""},
		{"gone on with", &asked, able, asked, ""},
		{"cannot", &asked, provider.Entry{ID: "x"}, wire.Conversation{}, "the entry of x on this host has no resume_argv_template"},
	} {
		got, err := conversationOf(wire.RunDispatch{Conversation: tt.given}, tt.entry)
		if got != tt.want || (err == nil) != (tt.wrong == "") || err != nil && !strings.Contains(err.Error(), tt.wrong) {
			t.Errorf("%s: %+v, %v", tt.name, got, err)
		}
	}
}
