package storetest

import (
	"reflect"
	"slices"
	"testing"

	"svc"
	"svc/store"
)

func messagesOfRuns(t *testing.T, w *world) {
	p := w.project("p")
	runs := []svc.Run{w.run(w.item(p, nil)), w.run(w.item(p, nil)), w.run(w.item(p, nil))}
	slices.SortFunc(runs, func(a, b svc.Run) int {
		if a.ID < b.ID {
			return -1
		}
		return 1
	})
	add := func(r svc.Run, number int64, text string, state svc.MessageState, asked bool) svc.Message {
		m := svc.Message{ID: svc.NewID(), RunID: r.ID, Number: number, Attempt: 1, Text: text, State: state, By: "ann", When: svc.MessageTurnEnd, Answer: number == 2,
			Asked: asked, CreatedAt: 3, UpdatedAt: 3, Version: 1}
		w.write(func(tx *store.Tx) error {
			last, open, err := tx.LastMessage(w.ctx, r.ID)
			if err == nil && last != number-1 {
				t.Errorf("the last number is %d before %d, with %d open", last, number, open)
			}
			if err == nil {
				err = tx.InsertMessage(w.ctx, m)
			}
			return err
		})
		return m
	}
	add(runs[0], 1, "a", svc.MessageAcknowledged, true)
	pasted := add(runs[0], 2, "b\n", svc.MessagePasted, true)
	add(runs[0], 3, "c", svc.MessageQueued, false)
	queued := add(runs[1], 1, "d", svc.MessageQueued, false)
	add(runs[2], 1, "e", svc.MessageUndelivered, false)

	next, err := w.NextMessages(w.ctx, "", 10)
	w.must(err)
	if !reflect.DeepEqual(next, []svc.Message{pasted, queued}) {
		t.Errorf("the next ones are %+v", next)
	}
	if one, err := w.NextMessages(w.ctx, "", 1); err != nil || len(one) != 1 || one[0].ID != pasted.ID {
		t.Errorf("the first of them is %+v (%v)", one, err)
	}
	if behind, err := w.NextMessages(w.ctx, runs[0].ID, 10); err != nil || len(behind) != 1 || behind[0].ID != queued.ID {
		t.Errorf("behind the first run there is %+v (%v)", behind, err)
	}
	var texts []string
	for page := (svc.Page{Limit: 2}); ; {
		l, err := w.Messages(w.ctx, runs[0].ID, page)
		w.must(err)
		for _, m := range l.Items {
			texts = append(texts, m.Text)
		}
		if l.NextCursor == nil {
			break
		}
		page.Cursor = *l.NextCursor
	}
	if !slices.Equal(texts, []string{"a", "b\n", "c"}) {
		t.Errorf("in pages of two there are %q", texts)
	}
	w.write(func(tx *store.Tx) error {
		if last, open, err := tx.LastMessage(w.ctx, runs[0].ID); last != 3 || open != 2 || err != nil {
			t.Errorf("the last is %d, and %d are open (%v)", last, open, err)
		}
		for text, want := range map[string]svc.MessageState{"b": svc.MessagePasted, "c": "", "a": "", "x": ""} {
			if m, err := tx.SubmittedMessage(w.ctx, runs[0].ID, 1, svc.PromptDigest(text)); m.State != want || err != nil {
				t.Errorf("submitted %q: %q (%v), want %q", text, m.State, err, want)
			}
		}
		if m, err := tx.SubmittedMessage(w.ctx, runs[0].ID, 2, svc.PromptDigest("b")); m.State != "" || err != nil {
			t.Errorf("another attempt's: %+v (%v)", m, err)
		}
		m, err := tx.LockMessage(w.ctx, pasted.ID)
		if err != nil {
			return err
		}
		m.Settle(svc.MessageUnconfirmed, svc.MessageNotReported)
		m.Nudged = true
		if err := tx.UpdateMessage(w.ctx, &m); err != nil || m.Version != 2 {
			t.Errorf("changed to %+v (%v)", m, err)
		}
		stale := pasted
		if err := tx.UpdateMessage(w.ctx, &stale); err == nil {
			t.Error("a message that changed meanwhile was overwritten")
		}
		if m, err := tx.SubmittedMessage(w.ctx, runs[0].ID, 1, svc.PromptDigest("b")); m.ID != pasted.ID || !m.Nudged || m.Reason != svc.MessageNotReported || err != nil {
			t.Errorf("late: %+v (%v)", m, err)
		}
		return nil
	})
}
