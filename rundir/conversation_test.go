package rundir_test

import (
	"testing"
	"time"

	"svc/rundir"
)

func TestANoteOfAConversationStaysUntilItIsOld(t *testing.T) {
	t.Parallel()
	dir, err := rundir.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := dir.PruneConversations(time.Now()); err != nil {
		t.Errorf("before there are any: %v", err)
	}
	for range 2 { // each run that resumes it records it again
		if err := dir.NoteConversation("conv-1"); err != nil {
			t.Fatal(err)
		}
	}
	for _, odd := range []string{"", "..", "../x", "a/b", "-x"} {
		if err := dir.NoteConversation(odd); err == nil || dir.SawConversation(odd) {
			t.Errorf("%q was noted: %v", odd, err)
		}
	}
	if !dir.SawConversation("conv-1") || dir.SawConversation("conv-2") {
		t.Error("the notes are not as they were made")
	}
	if err := dir.PruneConversations(time.Now().Add(-time.Hour)); err != nil || !dir.SawConversation("conv-1") {
		t.Errorf("a young note went: %v", err)
	}
	if err := dir.PruneConversations(time.Now().Add(time.Hour)); err != nil || dir.SawConversation("conv-1") {
		t.Errorf("an old note stays: %v", err)
	}
}
