package cli

import (
	"strings"
	"testing"

	"svc"
)

// TestAnEndWithoutTheConversationSaysThatItMayBeLost: most tools report only in their log that they have lost a
// conversation.
func TestAnEndWithoutTheConversationSaysThatItMayBeLost(t *testing.T) {
	t.Parallel()
	code, gone := 1, svc.ConversationGone
	for name, c := range map[string]struct {
		run  svc.Run
		want bool
	}{
		"not confirmed": {svc.Run{Status: svc.RunFailed, ExitCode: &code, Conversation: &svc.Conversation{ID: "c", Resumed: svc.ResumedUnknown}}, true},
		"confirmed":     {svc.Run{Status: svc.RunFailed, ExitCode: &code, Conversation: &svc.Conversation{ID: "c", Resumed: svc.ResumedYes}}, false},
		"the first":     {svc.Run{Status: svc.RunFailed, ExitCode: &code, Conversation: &svc.Conversation{ID: "c", Resumed: svc.ResumedNo}}, false},
		"known to be":   {svc.Run{Status: svc.RunFailed, Error: &gone, Conversation: &svc.Conversation{ID: "c", Resumed: svc.ResumedUnknown}}, false},
		"none":          {svc.Run{Status: svc.RunFailed, ExitCode: &code}, false},
		"stopped":       {svc.Run{Status: svc.RunStopped, Conversation: &svc.Conversation{ID: "c", Resumed: svc.ResumedUnknown}}, false},
	} {
		if got := ending(c.run); strings.Contains(got, "conversation, which it may have lost") != c.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}
