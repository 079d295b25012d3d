package engine

import (
	"fmt"
	"strings"
	"testing"

	"svc"
	"svc/store"
)

func TestCommentsFollowTheirLinesAndAreHandledByTheirAgentAlone(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.online("h")
		w.keepBeating()
		r := s.inRepository()
		id := w.dispatched().Workspace.ID
		r = w.started(r)
		w.relaysPatch(id, 1, patchOne, "base")
		ctx := svc.WithCaller(s.ctx, svc.Caller{Name: "ann", Role: svc.RoleOperator})

		// The lines are quoted from the patch. A line that the patch does not show is refused with the field's name.
		c, err := s.CreateComment(ctx, id, svc.NewComment{Path: "a", Line: ptr(2), EndLine: ptr(3), Body: "why?"})
		s.no(err)
		if c.Quote != "TWO\nthree" || c.Author != "ann" || c.State != svc.CommentDraft || c.Checkpoint != 1 || c.Anchor != svc.AnchorSame || *c.AnchorLine != 2 {
			t.Errorf("made %+v", c)
		}
		old, err := s.CreateComment(ctx, id, svc.NewComment{Path: "a", Side: svc.SideOld, Line: ptr(2), Body: "it was right"})
		s.no(err)
		whole, err := s.CreateComment(ctx, id, svc.NewComment{Path: "a", Body: "all of it"})
		s.no(err)
		if old.Quote != "two" || whole.Quote != "" || whole.AnchorLine != nil {
			t.Errorf("made %+v and %+v", old, whole)
		}
		for field, n := range map[string]svc.NewComment{
			"line":       {Path: "a", Line: ptr(5), Body: "b"},
			"path":       {Path: "other", Body: "b"},
			"end_line":   {Path: "a", Line: ptr(2), EndLine: ptr(1), Body: "b"},
			"body":       {Path: "a", Body: strings.Repeat("x", 16<<10+1)},
			"side":       {Path: "a", Side: "left", Body: "b"},
			"checkpoint": {Path: "a", Checkpoint: 9, Body: "b"},
		} {
			_, err := s.CreateComment(ctx, id, n)
			if s.wantCode(field, err, svc.CodeValidation); !strings.Contains(fmt.Sprint(err), field) {
				t.Errorf("%s is not named: %v", field, err)
			}
		}

		// A newer checkpoint moves the lines.
		w.relaysPatch(id, 2, patchTwo, "base")
		list, err := s.Comments(s.ctx, id, svc.Page{Limit: 10})
		s.no(err)
		if got := list.Items; len(got) != 3 || got[0].Anchor != svc.AnchorMoved || *got[0].AnchorLine != 3 || got[1].Anchor != svc.AnchorSame || got[2].Anchor != svc.AnchorSame {
			t.Errorf("after checkpoint 2: %+v", got)
		}
		// The commented checkpoint keeps its patch, however many newer ones are relayed.
		for number := 3; number < 40; number++ {
			w.relaysPatch(id, number, "", "base")
		}
		list, err = s.Comments(s.ctx, id, svc.Page{Limit: 10})
		s.no(err)
		if got := list.Items; got[0].Anchor != svc.AnchorGone || got[1].Anchor != svc.AnchorGone || got[2].Anchor != svc.AnchorSame {
			t.Errorf("after the change was taken back: %+v", got)
		}

		// The text of a draft may change. A state may change only where a person decides it.
		_, err = s.UpdateComment(ctx, c.ID, svc.CommentPatch{Body: ptr("why not?")}, ptr(c.Version))
		s.no(err)
		_, err = s.UpdateComment(ctx, c.ID, svc.CommentPatch{Body: ptr("again")}, ptr(c.Version))
		s.wantCode("an old version", err, svc.CodePrecondition)
		_, err = s.UpdateComment(ctx, c.ID, svc.CommentPatch{State: ptr(svc.CommentSent)}, nil)
		s.wantCode("to be sent by hand", err, svc.CodeValidation)

		// The prompt contains all drafts. Nothing is sent without a conversation to continue.
		sent, err := s.PreviewSend(ctx, id, svc.NewSend{Message: "Please."})
		s.no(err)
		if !strings.HasPrefix(sent.Prompt, "Please.\n\nReview comments on your changes:\n\n1. a, lines 2 to 3 (checkpoint 1)\n   > TWO\n   > three\n   why not?\n") {
			t.Errorf("the prompt is %s", sent.Prompt)
		}
		_, err = s.PreviewSend(ctx, id, svc.NewSend{CommentIDs: []string{svc.NewID()}})
		s.wantCode("a comment that there is not", err, svc.CodeValidation)
		_, err = s.SendComments(ctx, id, svc.NewSend{})
		s.wantCode("no conversation is known", err, svc.CodeNoConversation)
		if got, err := s.Comment(s.ctx, c.ID); err != nil || got.State != svc.CommentDraft {
			t.Errorf("it is %s (%v)", got.State, err)
		}

		// The agent handles a comment that it was sent, in its own workspace.
		who := Reporter{Host: w.host.ID, Attempt: r.Attempt}
		_, err = s.HandleComment(s.ctx, who, r.ID, c.ID, "done")
		s.wantCode("a draft", err, svc.CodeConflict)
		s.markSent(c.ID, r.ID)
		other := s.inRepository()
		_, err = s.HandleComment(s.ctx, Reporter{}, other.ID, c.ID, "done")
		s.wantCode("of another workspace", err, svc.CodeForbidden)
		got, err := s.HandleComment(s.ctx, who, r.ID, c.ID, "done")
		s.no(err)
		if got.State != svc.CommentHandled || got.Note != "done" {
			t.Errorf("handled: %+v", got)
		}
		_, err = s.UpdateComment(ctx, c.ID, svc.CommentPatch{State: ptr(svc.CommentResolved)}, nil)
		s.no(err)
		s.no(s.DeleteComment(ctx, whole.ID, nil))
		_, err = s.Comment(s.ctx, whole.ID)
		s.wantCode("a deleted one", err, svc.CodeNotFound)
	})
}

// markSent makes a comment one that was sent to a run.
func (s *site) markSent(id, runID string) {
	s.t.Helper()
	s.no(s.Store.Write(s.ctx, func(tx *store.Tx) error {
		c, err := tx.LockComment(s.ctx, id)
		if err != nil {
			return err
		}
		c.State, c.RunID = svc.CommentSent, &runID
		return tx.UpdateComment(s.ctx, &c)
	}))
}
