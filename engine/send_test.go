package engine

import (
	"strings"
	"sync"
	"testing"

	"svc"
	"svc/wire"
)

// commented starts a run in a workspace with two drafts. Its agent can continue its conversation.
func commented(s *site) (w *worker, r svc.Run, drafts []svc.Comment) {
	s.t.Helper()
	w = s.online("h")
	w.keepBeating()
	w.resumes(svc.ConversationMinted)
	r = s.inRepository()
	id := w.dispatched().Workspace.ID
	r = w.started(r)
	w.relaysPatch(id, 1, patchOne, "base")
	for _, body := range []string{"why?", "and how?"} {
		c, err := s.CreateComment(s.ctx, id, svc.NewComment{Path: "a", Line: ptr(2), Body: body})
		s.no(err)
		drafts = append(drafts, c)
	}
	s.news()
	return w, r, drafts
}

func (s *site) runsOf(r svc.Run) []svc.RunSummary {
	s.t.Helper()
	list, err := s.Runs(s.ctx, svc.RunFilter{TaskID: r.TaskID}, svc.Page{Limit: 100})
	s.no(err)
	return list.Items
}

func TestCommentsAreSentAsARunThatGoesOnWithTheConversation(t *testing.T) {
	bubble(t, func(s *site) {
		w, r, drafts := commented(s)
		preview, err := s.PreviewSend(s.ctx, *r.WorkspaceID, svc.NewSend{CommentIDs: []string{drafts[0].ID}, Message: "Please."})
		s.no(err)
		key := WithIdempotency(svc.WithCaller(s.ctx, svc.Caller{Name: "ann"}), "k", "f")
		sent, err := s.SendComments(key, *r.WorkspaceID, svc.NewSend{CommentIDs: []string{drafts[0].ID}, Message: "Please."})
		s.no(err)
		if sent.RunID == nil || sent.MessageID != nil || sent.Prompt != preview.Prompt || !strings.Contains(sent.Prompt, "why?") {
			t.Fatalf("sent %+v", sent)
		}
		again, err := s.SendComments(key, *r.WorkspaceID, svc.NewSend{CommentIDs: []string{drafts[0].ID}, Message: "Please."})
		s.no(err)
		if *again.RunID != *sent.RunID || len(s.runsOf(r)) != 2 {
			t.Errorf("repeated: %s after %s, %d runs", *again.RunID, *sent.RunID, len(s.runsOf(r)))
		}
		events := s.wantTopics(svc.TopicRunCreated, svc.TopicCommentUpdated)
		if field(events[1], "state") != "sent" || field(events[1], "run_id") != *sent.RunID {
			t.Errorf("journaled %s", events[1].Payload)
		}
		for i, want := range []svc.CommentState{svc.CommentSent, svc.CommentDraft} {
			if c, err := s.Comment(s.ctx, drafts[i].ID); err != nil || c.State != want {
				t.Errorf("comment %d is %s (%v), want %s", i, c.State, err, want)
			}
		}

		// The next run waits for the first one, and continues the same conversation.
		third, err := s.SendComments(s.ctx, *r.WorkspaceID, svc.NewSend{})
		s.no(err)
		s.ended(r, 0)
		for _, id := range []string{*sent.RunID, *third.RunID} {
			next, err := s.Run(s.ctx, id)
			s.no(err)
			got := w.dispatched()
			if got.RunID != id || got.Workspace.ID != *r.WorkspaceID || *got.Conversation != (wire.Conversation{ID: r.Conversation.ID, Resume: true}) || got.Prompt != next.Prompt {
				t.Fatalf("dispatched %+v, %+v", got, got.Conversation)
			}
			next = w.started(next)
			if id == *sent.RunID { // the agent of the run that it was sent to reports it as handled
				_, err = s.HandleComment(s.ctx, Reporter{Host: w.host.ID, Attempt: 1}, id, drafts[0].ID, "done")
				s.no(err)
			}
			s.ended(next, 0)
		}
		if last, err := s.Run(s.ctx, *third.RunID); err != nil || *last.ContinuesRunID != *sent.RunID || len(s.runsOf(r)) != 3 {
			t.Errorf("the third of %d runs continues %s (%v)", len(s.runsOf(r)), *last.ContinuesRunID, err)
		}
		_, err = s.SendComments(s.ctx, *r.WorkspaceID, svc.NewSend{})
		s.wantCode("nothing is left", err, svc.CodeValidation)
	})
}

func TestTwoWhoSendAtTheSameTimeStartOneRun(t *testing.T) {
	bubble(t, func(s *site) {
		_, r, drafts := commented(s)
		codes := make([]svc.Code, 4)
		var all sync.WaitGroup
		for i := range codes {
			all.Go(func() {
				n := svc.NewSend{}
				if i%2 == 1 {
					n.CommentIDs = []string{drafts[0].ID, drafts[1].ID}
				}
				_, err := s.SendComments(s.ctx, *r.WorkspaceID, n)
				codes[i] = svc.CodeOf(err)
			})
		}
		all.Wait()
		sent := 0
		for i, code := range codes {
			switch {
			case code == "":
				sent++
			case code != svc.CodeValidation && i%2 == 0, code != svc.CodeConflict && i%2 == 1:
				t.Errorf("send %d: %s", i, code)
			}
		}
		if runs := s.runsOf(r); sent != 1 || len(runs) != 2 {
			t.Errorf("%d were sent, %d runs", sent, len(runs))
		}
		for _, c := range drafts {
			if got, err := s.Comment(s.ctx, c.ID); err != nil || got.State != svc.CommentSent {
				t.Errorf("comment is %s (%v)", got.State, err)
			}
		}
	})
}

func TestCommentsAreSentAsAMessageToAnAgentThatTakesThem(t *testing.T) {
	bubble(t, func(s *site) {
		w, r, drafts := commented(s)
		w.reports(svc.ProviderReport{Available: true, Message: "paste"})
		w.take()
		holder := s.attach(w, r)
		_, err := s.SendComments(s.ctx, *r.WorkspaceID, svc.NewSend{})
		s.wantCode("while somebody types", err, svc.CodeLeaseHeld)
		holder.Leave()
		s.settle()
		if c, err := s.Comment(s.ctx, drafts[0].ID); err != nil || c.State != svc.CommentDraft {
			t.Errorf("a refused draft is %s (%v)", c.State, err)
		}
		w.take()
		s.news()

		sent, err := s.SendComments(s.ctx, *r.WorkspaceID, svc.NewSend{CommentIDs: []string{drafts[0].ID}})
		s.no(err)
		if *sent.RunID != r.ID || sent.MessageID == nil || len(s.runsOf(r)) != 1 {
			t.Fatalf("sent %+v, and there are %d runs", sent, len(s.runsOf(r)))
		}
		s.wantTopics(svc.TopicRunMessage, svc.TopicCommentUpdated)
		w.wantPastes(sent.Prompt)
		_, err = s.HandleComment(s.ctx, Reporter{Host: w.host.ID, Attempt: 1}, r.ID, drafts[0].ID, "done")
		s.no(err)

		// A text that is too long for a message becomes the prompt of a run.
		for range 4 {
			_, err := s.CreateComment(s.ctx, *r.WorkspaceID, svc.NewComment{Path: "a", Line: ptr(2), Body: strings.Repeat("x", 16<<10)})
			s.no(err)
		}
		w.reports(svc.ProviderReport{Available: true, Message: "paste", Conversation: svc.ConversationMinted, Resumes: true})
		long, err := s.SendComments(s.ctx, *r.WorkspaceID, svc.NewSend{})
		s.no(err)
		if *long.RunID == r.ID || long.MessageID != nil {
			t.Errorf("%d bytes went as message %v", len(long.Prompt), long.MessageID)
		}
	})
}

// wantDelivery checks the state of a comment and of the message that it was sent with.
func (s *site) wantDelivery(c svc.Comment, want string) {
	s.t.Helper()
	s.settle()
	got, err := s.Comment(s.ctx, c.ID)
	s.no(err)
	if said := strings.TrimSpace(strings.Join([]string{string(got.State), string(got.Delivery), string(got.DeliveryReason)}, " ")); said != want {
		s.t.Errorf("comment %q is %q, want %q", c.Body, said, want)
	}
}

func TestACommentSaysWhatBecameOfTheMessageThatItWasSentAs(t *testing.T) {
	bubble(t, func(s *site) {
		w, r, drafts := commented(s)
		w.reports(svc.ProviderReport{Available: true, Message: "paste"})
		w.take()
		first, second := drafts[0], drafts[1]
		sendOne := func(c svc.Comment) svc.Sent {
			t.Helper()
			sent, err := s.SendComments(s.ctx, *r.WorkspaceID, svc.NewSend{CommentIDs: []string{c.ID}})
			s.no(err)
			s.settle()
			if c, err := s.Comment(s.ctx, c.ID); err != nil || *c.MessageID != *sent.MessageID || *c.RunID != r.ID {
				t.Errorf("the comment is %+v (%v), sent %+v", c, err, sent)
			}
			return sent
		}

		// The worker reports that it could not paste the message. The comment was not delivered and is a draft again,
		// with the reason.
		sendOne(first)
		s.wantDelivery(first, "sent queued")
		s.wantDelivery(second, "draft")
		_, ids := w.pastes()
		s.news()
		w.send(wire.KeysResult{RequestID: ids[0], Error: "the session has ended"})
		s.wantDelivery(first, "draft undelivered refused")
		events := s.wantTopics(svc.TopicRunMessage, svc.TopicCommentUpdated)
		if field(events[1], "state") != "draft" || field(events[1], "delivery_reason") != "refused" {
			t.Errorf("journaled %s", events[1].Payload)
		}

		// The comment is sent again, and the tool's hook reports it.
		sent := sendOne(first)
		w.wantPastes(sent.Prompt)
		s.wantDelivery(first, "sent pasted")
		s.want(svc.Applied)(s.signal(r, svc.SignalProgress, seq(1), submits(sent.Prompt)))
		s.wantDelivery(first, "sent acknowledged")

		// It is unknown whether the other one arrived, until the hook reports it late.
		sent = sendOne(second)
		_, ids = w.pastes()
		w.send(wire.KeysResult{RequestID: ids[0], Error: "tmux", Unknown: true})
		s.wantDelivery(second, "sent unconfirmed outcome_unknown")
		s.want(svc.Applied)(s.signal(r, svc.SignalProgress, seq(2), submits(sent.Prompt)))
		s.wantDelivery(second, "sent acknowledged")
		s.wantDelivery(first, "sent acknowledged")
	})
}

func TestACommentSaysWhatBecameOfTheRunThatItWasSentAs(t *testing.T) {
	bubble(t, func(s *site) {
		w, r, drafts := commented(s)
		first, second := drafts[0], drafts[1]
		send := func(c svc.Comment) svc.Run {
			t.Helper()
			sent, err := s.SendComments(s.ctx, *r.WorkspaceID, svc.NewSend{CommentIDs: []string{c.ID}})
			s.no(err)
			s.wantDelivery(c, "sent queued")
			next, err := s.Run(s.ctx, *sent.RunID)
			s.no(err)
			return next
		}

		// The run is stopped before it starts: no agent has read the comment.
		_, err := s.StopRun(s.ctx, send(first).ID)
		s.no(err)
		s.pass(messagePoll)
		s.wantDelivery(first, "draft undelivered run_ended")

		next := send(second)
		s.pass(messagePoll)
		s.wantDelivery(second, "sent queued")
		s.ended(r, 0)
		w.dispatched()
		w.started(next)
		s.pass(messagePoll)
		s.wantDelivery(second, "sent acknowledged")
		s.wantDelivery(first, "draft undelivered run_ended")
	})
}

func TestACommentThatAPersonHasDealtWithIsNoDraftAgain(t *testing.T) {
	bubble(t, func(s *site) {
		w, r, drafts := commented(s)
		w.reports(svc.ProviderReport{Available: true, Message: "paste"})
		w.take()
		_, err := s.SendComments(s.ctx, *r.WorkspaceID, svc.NewSend{})
		s.no(err)
		s.settle()
		_, err = s.UpdateComment(s.ctx, drafts[0].ID, svc.CommentPatch{State: ptr(svc.CommentResolved)}, nil)
		s.no(err)
		_, ids := w.pastes()
		w.send(wire.KeysResult{RequestID: ids[0], Error: "the session has ended"})
		s.wantDelivery(drafts[0], "resolved undelivered refused")
		s.wantDelivery(drafts[1], "draft undelivered refused")
	})
}
