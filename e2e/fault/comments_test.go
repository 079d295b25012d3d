package fault

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"svc"
	"svc/api"
	"svc/internal/proctest"
	"svc/internal/waittest"
)

// TestACommentArrivesOnceOrItsStateSaysWhyNot drafts comments on the changes of agents, edits and deletes some, and
// sends the rest in batches, while worker, orchestrator, wrappers and tmux servers are killed and the link is cut. A
// batch is sent as a message to the running agent, or as the prompt of a run that continues. No comment may reach an
// agent twice, with an old text, or after it was deleted. An acknowledged comment must have reached the agent, and a
// draft must not. Every other comment must be unconfirmed with a reason, or be the prompt of a run that did not start.
func TestACommentArrivesOnceOrItsStateSaysWhyNot(t *testing.T) {
	t.Parallel()
	runRounds(t, shortOrLong(2, 4), func(t *testing.T, seed uint64) judgedSite { return newReviewSite(t, seed, shortOrLong(1, 2)) })
}

// reviewSite is a talkSite with changes of agents on which the test comments.
type reviewSite struct {
	*talkSite
	changes []*reviewedChange
}

// reviewedChange is one change, and the comments that the test has made on it.
type reviewedChange struct {
	task, workspace string
	random          *rand.Rand
	sends           int
	made            int
	texts           map[string]string // of each existing comment, by id
	gone            []string          // texts that were replaced or deleted before they were sent
}

// reviewedScript is the agent. It writes each comment that it receives, with the id of its run, to a file: first the
// comments in its prompt, then those of each paste, which the terminal marks at both ends (bracketed paste). It reports
// a paste as the hook of a real tool does.
const reviewedScript = `
printf '\033[?2004h'
esc=$(printf '\033')
note() { printf '%%s\n' "$1" | grep -o '<[^>]*>' | sed "s/^/$SVC_RUN_ID /" >> '%s'/comments; }
test -e work.txt || printf 'one\ntwo\nthree\n' > work.txt
note "$2"
svc exec signal completed --result success
given=
while IFS= read -r line; do
	given="$given$line
"
	case $line in *"$esc[201~"*) ;; *) continue ;; esac
	given=$(printf '%%s' "$given" | sed "s/$esc\[20[01]~//g")
	note "$given"
	svc exec signal progress --message 'works on comments' --submitted "$given"
	svc exec signal completed --result success
	given=
done
`

const reviewedEntry = `
[providers.reviewed]
bin = "/bin/sh"
argv_template = ["%[1]s", "{conversation}", "{prompt}"]
resume_argv_template = ["%[1]s", "{conversation}", "{prompt}"]
conversation = "minted"
installed_detection = ["-c", "true"]
message = "paste"
completion_signals = ["native_hook", "exit_code"]
`

func newReviewSite(t *testing.T, seed uint64, changes int) *reviewSite {
	t.Helper()
	script := "reviewed.sh"
	s := &reviewSite{}
	s.talkSite = newTalkSite(t, seed, "reviewed", func(lab *proctest.Lab, notes string) string {
		lab.Write(lab.Path(script), fmt.Sprintf(reviewedScript, notes))
		return fmt.Sprintf(reviewedEntry, lab.Path(script))
	})
	s.repository()
	for i := range changes {
		c := &reviewedChange{task: s.newTask(), random: rand.New(rand.NewPCG(seed, uint64(i+1))), texts: map[string]string{}}
		run, err := s.client.CreateRun(t.Context(), api.CreateRun{TaskID: c.task, Provider: "reviewed", Prompt: api.Some("Count.")})
		if err != nil {
			t.Fatal(err)
		}
		s.follower.AwaitRun(run.ID, svc.TopicRunStarted)
		waittest.Eventually(t, "the change can be read", func() bool {
			r := s.get(run.ID)
			if r.WorkspaceID == nil {
				return false
			}
			c.workspace = *r.WorkspaceID
			w := s.workspace(run.ID)
			return w.RelayedCheckpoint > 0 && w.Files > 0
		})
		s.changes = append(s.changes, c)
	}
	return s
}

// round reviews each change while faults happen. Then it sends the remaining drafts until there are none.
func (s *reviewSite) round(batches int) {
	s.t.Helper()
	var reviewing sync.WaitGroup
	for _, c := range s.changes {
		reviewing.Go(func() {
			for range batches {
				s.review(c)
				s.send(c)
			}
		})
	}
	s.disturb()
	reviewing.Wait()
	for _, c := range s.changes {
		s.wantDelivery(c)
		s.draft(c) // one more comment, without faults
		s.wantDelivery(c)
	}
}

// review drafts some comments, and edits or deletes some of them.
func (s *reviewSite) review(c *reviewedChange) {
	for range 1 + c.random.IntN(3) {
		proctest.Pause(time.Duration(c.random.Int64N(int64(300 * time.Millisecond))))
		id := s.draft(c)
		switch c.random.IntN(4) {
		case 0:
			s.edit(c, id, strings.Replace(c.texts[id], ">", " again>", 1))
		case 1:
			s.remove(c, id)
		}
	}
}

// draft creates a comment on one of the lines that the agent wrote.
func (s *reviewSite) draft(c *reviewedChange) (id string) {
	text, line := fmt.Sprintf("<%.8s-%d>", c.workspace, c.made), 1+c.random.IntN(3)
	c.made++
	err := s.retry(text, func(ctx context.Context) error {
		made, err := s.client.CreateComment(ctx, c.workspace, api.CreateComment{Path: "work.txt", Line: &line, Body: text})
		id = made.ID
		return err
	})
	if err != nil {
		s.t.Errorf("comment %s cannot be created: %v", text, err)
	}
	c.texts[id] = text
	return id
}

func (s *reviewSite) edit(c *reviewedChange, id, text string) {
	if err := s.retry("edit "+id, func(ctx context.Context) error {
		_, err := s.client.PatchComment(ctx, id, api.PatchComment{Body: api.Some(text)})
		return err
	}); err != nil {
		s.t.Errorf("draft %s cannot be changed: %v", id, err)
		return
	}
	c.gone = append(c.gone, c.texts[id])
	c.texts[id] = text
}

func (s *reviewSite) remove(c *reviewedChange, id string) {
	err := s.retry("delete "+id, func(ctx context.Context) error { return s.client.DeleteComment(ctx, id) })
	if err != nil && svc.CodeOf(err) != svc.CodeNotFound { // an earlier try may have deleted it
		s.t.Errorf("draft %s cannot be deleted: %v", id, err)
		return
	}
	c.gone = append(c.gone, c.texts[id])
	delete(c.texts, id)
}

// send sends all drafts. If the request is refused, they stay drafts.
func (s *reviewSite) send(c *reviewedChange) {
	c.sends++
	_ = s.retry(fmt.Sprintf("%s send %d", c.workspace, c.sends), func(ctx context.Context) error {
		_, err := s.client.SendComments(ctx, c.workspace, api.SendComments{}, false)
		return err
	})
}

// wantDelivery sends comments that became drafts again, until none does. It is called when all faults have ended. It
// may need several tries, because the orchestrator detects the end of a killed session only after some time.
func (s *reviewSite) wantDelivery(c *reviewedChange) {
	s.t.Helper()
	waittest.Eventually(s.t, "every comment is sent and does not become a draft again", func() bool {
		s.settle(c)
		if !slices.ContainsFunc(s.comments(c), isDraft) {
			return true
		}
		s.send(c)
		return false
	})
}

func isDraft(c svc.Comment) bool { return c.State == svc.CommentDraft }

// settle waits until every sent comment is settled: its message has a final state, or the run whose prompt it is has
// started or ended. If such a run waits for its workspace because another run uses it, settle stops that other run, as
// a person would.
func (s *reviewSite) settle(c *reviewedChange) {
	s.t.Helper()
	waittest.Eventually(s.t, "every sent comment is settled", func() bool {
		over := true
		for _, comment := range s.comments(c) {
			switch {
			case comment.State != svc.CommentSent:
			case comment.Delivery == svc.MessageQueued, comment.Delivery == svc.MessagePasted:
				over = false
			case comment.MessageID == nil && s.waits(*comment.RunID):
				over = false
				s.stopOthers(c, *comment.RunID)
			}
		}
		return over
	})
}

// waits reports whether a run has not started yet, but still may.
func (s *reviewSite) waits(runID string) bool {
	r := s.get(runID)
	return r.Status == svc.RunPending || r.Status == svc.RunSpawning
}

// stopOthers stops the running runs of a change, so that the waiting run can use the workspace.
func (s *reviewSite) stopOthers(c *reviewedChange, waiting string) {
	s.t.Helper()
	for r, err := range s.client.AllRuns(s.t.Context(), svc.RunFilter{TaskID: c.task}) {
		if err != nil {
			s.t.Fatal(err)
		}
		if r.ID == waiting || r.Status != svc.RunRunning {
			continue
		}
		if _, err := s.client.StopRun(s.t.Context(), r.ID); err != nil && svc.CodeOf(err) != svc.CodeRunNotActive {
			s.t.Logf("run %s cannot be stopped: %v", r.ID, err)
		}
	}
}

func (s *reviewSite) comments(c *reviewedChange) (all []svc.Comment) {
	s.t.Helper()
	for comment, err := range s.client.AllComments(s.t.Context(), c.workspace) {
		if err != nil {
			s.t.Fatal(err)
		}
		all = append(all, comment)
	}
	return all
}

// judge compares the comments with the actions of the reviewers, and with the comments that the agents received.
func (s *reviewSite) judge() {
	s.t.Helper()
	states := map[string]int{}
	given := map[string][]string{} // by text: the runs whose agents received it
	for _, line := range s.noted("comments") {
		run, text, _ := strings.Cut(line, " ")
		given[text] = append(given[text], run)
	}
	for _, c := range s.changes {
		kept := map[string]string{}
		for _, comment := range s.comments(c) {
			kept[comment.ID] = comment.Body
			states[strings.TrimSpace(fmt.Sprint(comment.State, " ", comment.Delivery, " ", comment.DeliveryReason))]++
			if why := s.violation(comment, given[comment.Body]); why != "" {
				s.t.Errorf("comment %s is %s %s %s of run %s and reached the runs %v: %s",
					comment.Body, comment.State, comment.Delivery, comment.DeliveryReason, orNone(comment.RunID), given[comment.Body], why)
			}
		}
		if !maps.Equal(kept, c.texts) {
			s.t.Errorf("the comments are %v, acknowledged were %v", kept, c.texts)
		}
		for _, text := range c.gone {
			if len(given[text]) > 0 {
				s.t.Errorf("%s was changed or deleted before it was sent, but reached the runs %v", text, given[text])
			}
		}
	}
	s.t.Logf("states: %v", states)
}

func orNone(id *string) string {
	if id == nil {
		return "none"
	}
	return *id
}

// violation returns why a comment's state is wrong, given the runs whose agents received the comment; empty: the state
// is correct.
func (s *reviewSite) violation(c svc.Comment, runs []string) string {
	switch {
	case len(runs) > 1:
		return "it arrived more than once"
	case len(runs) == 1 && (c.RunID == nil || runs[0] != *c.RunID):
		return "it reached another run"
	case c.State == svc.CommentDraft && len(runs) > 0:
		return "a draft reached an agent"
	case c.State == svc.CommentDraft && c.MessageID != nil && (c.Delivery != svc.MessageUndelivered || c.DeliveryReason == ""):
		return "it is a draft again without a reason"
	case c.State == svc.CommentDraft:
		return ""
	case c.MessageID == nil:
		if r := s.get(*c.RunID); len(runs) == 0 && (r.Status.Active() || r.Status == svc.RunExited) {
			return fmt.Sprintf("its run is %s and its agent did not receive it", r.Status)
		}
		return ""
	case c.Delivery == svc.MessageAcknowledged && len(runs) != 1:
		return "it was acknowledged and did not arrive"
	case c.Delivery == svc.MessageUnconfirmed && c.DeliveryReason == "":
		return "it is unconfirmed without a reason"
	case c.Delivery != svc.MessageAcknowledged && c.Delivery != svc.MessageUnconfirmed:
		return "that is not a final state"
	}
	return ""
}
