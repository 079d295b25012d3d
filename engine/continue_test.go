package engine

import (
	"strings"
	"testing"
	"time"

	"svc"
	"svc/wire"
)

// resumes makes a worker report that its provider_a can resume conversations whose ids come from source.
func (w *worker) resumes(source svc.ConversationSource) {
	w.s.t.Helper()
	w.send(wire.Providers{Providers: map[string]svc.ProviderReport{"provider_a": {Available: true, Conversation: source, Resumes: true}}})
	w.s.settle()
}

// tells reports progress with the id of a conversation.
func (s *site) tells(r svc.Run, n int64, id string) (svc.Outcome, error) {
	return s.signal(r, svc.SignalProgress, byHook, seq(n), func(x *svc.Signal) { x.Conversation = id })
}

// ended ends a running run.
func (s *site) ended(r svc.Run, exit int) {
	s.t.Helper()
	s.want(svc.Applied)(s.signal(r, svc.SignalFinished, code(exit)))
}

func continues(r svc.Run) func(*svc.NewRun) {
	return func(n *svc.NewRun) {
		n.TaskID, n.Provider, n.Continues, n.Prompt = r.TaskID, "", &r.ID, "and now the tests"
	}
}

func TestAContinuedRunGoesOnWithTheConversationWhenTheOtherIsOver(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.online("h")
		w.keepBeating()
		w.resumes(svc.ConversationByHook)
		s.online("other").keepBeating()
		first := s.inRepository(func(n *svc.NewRun) {
			n.HostID, n.Model, n.Args, n.Env, n.Cwd = &w.host.ID, "m", []string{"-x"}, map[string]string{"A": "b"}, "sub"
		})
		begun := w.dispatched()
		if *begun.Conversation != (wire.Conversation{}) {
			t.Errorf("the first run was dispatched with %+v", begun.Conversation)
		}
		first = w.started(first)
		s.want(svc.Applied)(s.tells(first, 1, "conv-1"))
		if got := s.get(first).Conversation; got == nil || *got != (svc.Conversation{ID: "conv-1", Source: svc.ConversationByHook, Resumed: svc.ResumedNo}) {
			t.Errorf("the first run has %+v", got)
		}
		second := s.run(continues(first))
		s.pass(10 * time.Minute) // longer than the dispatch timeout, which does not count this time
		detail, err := s.RunDetail(s.ctx, second.ID)
		s.no(err)
		if why := detail.Waiting.Why; detail.Status != svc.RunPending || len(why) != 2 || why[1].Code != svc.HoldPredecessor || detail.Waiting.TimesOutAt != nil {
			t.Fatalf("while the other runs: %s, waiting %+v", detail.Status, detail.Waiting)
		}
		s.ended(first, 0)
		got := w.dispatched()
		if got.RunID != second.ID || got.Workspace.ID != begun.Workspace.ID || *got.Conversation != (wire.Conversation{ID: "conv-1", Resume: true}) ||
			got.Model != "m" || got.Args[0] != "-x" || got.Env["A"] != "b" || got.Cwd != "sub" || got.Prompt != "and now the tests" {
			t.Errorf("dispatched %+v, %+v", got, got.Conversation)
		}
		second = w.started(second)
		if c := second.Conversation; *second.ContinuesRunID != first.ID || c.ID != "conv-1" || c.Resumed != svc.ResumedUnknown {
			t.Errorf("before its tool said anything: %+v", c)
		}
		s.want(svc.Applied)(s.signal(second, svc.SignalCompleted, byHook, func(x *svc.Signal) { x.Conversation = "conv-1" }))
		if c := s.get(second).Conversation; *c != (svc.Conversation{ID: "conv-1", Source: svc.ConversationByHook, Resumed: svc.ResumedYes}) {
			t.Errorf("after its tool reported the id: %+v", c)
		}
		// From here on the conversation may change: a person can start a new one in the tool.
		s.want(svc.Applied)(s.tells(second, 1, "conv-2"))
		if c := s.wantStatus(second, svc.RunRunning).Conversation; *c != (svc.Conversation{ID: "conv-2", Source: svc.ConversationByHook, Resumed: svc.ResumedNo}) {
			t.Errorf("after a new conversation: %+v", c)
		}
	})
}

func TestAToolThatBeginsAnotherConversationFailsTheRunForGood(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.online("h")
		w.keepBeating()
		w.resumes(svc.ConversationByHook)
		first := w.started(s.run())
		s.want(svc.Applied)(s.tells(first, 1, "conv-1"))
		s.ended(first, 0)
		second := w.started(s.run(continues(first), policy(svc.RestartAlways)))
		s.want(svc.Applied)(s.signal(second, svc.SignalCompleted, byHook, func(x *svc.Signal) { x.Conversation = "conv-9" }))
		got := s.wantStatus(second, svc.RunFailed) // no other attempt follows
		if got.Error == nil || *got.Error != "conversation_gone" || got.Result != nil || got.Conversation.ID != "conv-1" || got.Conversation.Resumed != svc.ResumedUnknown {
			t.Errorf("it ended with %v, result %v, %+v", value(got.Error), got.Result, got.Conversation)
		}
		s.wantTopics(svc.TopicRunFailed)
		w.wantFrames("run_stop 1")
		s.want(svc.Duplicate)(s.tells(second, 1, "conv-9"))
	})
}

func TestAMintedIdIsKnownBeforeItIsGivenAway(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.online("h")
		w.keepBeating()
		w.resumes(svc.ConversationMinted)
		r := s.run(policy(svc.RestartOnFailure))
		given := w.dispatched().Conversation
		c := s.get(r).Conversation
		if c == nil || c.Source != svc.ConversationMinted || c.Resumed != svc.ResumedNo || !svc.IsID(c.ID) || *given != (wire.Conversation{ID: c.ID}) {
			t.Fatalf("given %+v, known %+v", given, c)
		}
		s.pass(time.Minute) // the dispatch is not acknowledged, so it is sent again
		if again := w.dispatched().Conversation; *again != *given {
			t.Errorf("sent again as %+v", again)
		}
		r = w.started(r)
		s.ended(r, 1)
		if c := s.get(r).Conversation; c != nil {
			t.Errorf("between attempts: %+v", c)
		}
		s.pass(time.Minute)
		second := w.dispatched()
		if second.Attempt != 2 || second.Conversation.ID == given.ID || second.Conversation.Resume || second.Conversation.ID != s.get(r).Conversation.ID {
			t.Errorf("the second attempt begins %+v", second.Conversation)
		}
	})
}

func TestARestartOfAContinuedRunResumesTheSameConversation(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.online("h")
		w.keepBeating()
		w.resumes(svc.ConversationMinted)
		first := w.started(s.run())
		id := first.Conversation.ID
		s.ended(first, 0)
		second := w.started(s.run(continues(first), policy(svc.RestartOnFailure)))
		s.want(svc.Applied)(s.tells(second, 1, id))
		if c := s.get(second).Conversation; *c != (svc.Conversation{ID: id, Source: svc.ConversationMinted, Resumed: svc.ResumedYes}) {
			t.Errorf("the first attempt has %+v", c)
		}
		s.ended(second, 1)
		s.pass(time.Minute)
		got := w.dispatched()
		if got.Attempt != 2 || *got.Conversation != (wire.Conversation{ID: id, Resume: true}) {
			t.Errorf("the second attempt was dispatched with %+v", got.Conversation)
		}
		if c := s.get(second).Conversation; c.Resumed != svc.ResumedUnknown {
			t.Errorf("the second attempt has proven nothing: %+v", c)
		}
	})
}

func TestNothingIsContinuedThatCannotBe(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.online("h")
		w.keepBeating()
		w.send(wire.Providers{Providers: map[string]svc.ProviderReport{"provider_a": {Available: true}, "provider_b": {Available: true}}})
		r := w.started(s.run(func(n *svc.NewRun) { n.Model = "m" }))
		try := func(change ...func(*svc.NewRun)) (svc.Run, error) {
			n := svc.NewRun{Continues: &r.ID, Prompt: "go on"}
			for _, c := range change {
				c(&n)
			}
			return s.CreateRun(s.ctx, n)
		}
		_, err := try()
		s.wantCode("no conversation is known", err, svc.CodeNoConversation)
		s.want(svc.Applied)(s.tells(r, 1, "conv-1"))
		_, err = try()
		s.wantCode("the provider cannot", err, svc.CodeNoConversation)
		w.resumes(svc.ConversationByHook)
		for field, change := range map[string]func(*svc.NewRun){
			"prompt":       func(n *svc.NewRun) { n.Prompt = " " },
			"provider":     func(n *svc.NewRun) { n.Provider = "provider_b" },
			"model":        func(n *svc.NewRun) { n.Model = "other" },
			"host_id":      func(n *svc.NewRun) { n.HostID = ptr(svc.NewID()) },
			"workspace_id": func(n *svc.NewRun) { n.WorkspaceID = ptr(svc.NewID()) },
			"task_id":      func(n *svc.NewRun) { n.TaskID = svc.NewID() },
			"task":         func(n *svc.NewRun) { n.Task = &svc.NewWorkItem{} },
			"continues":    func(n *svc.NewRun) { n.Continues = ptr(svc.NewID()) },
			"fresh":        func(n *svc.NewRun) { n.Continues, n.TaskID, n.Fresh = nil, r.TaskID, true },
		} {
			if _, err := try(change); svc.CodeOf(err) != svc.CodeValidation || !strings.Contains(err.Error(), field+": ") {
				t.Errorf("%s: %v", field, err)
			}
		}
		same, err := try(func(n *svc.NewRun) {
			n.TaskID, n.Provider, n.Model, n.HostID = r.TaskID, "provider_a", "m", &w.host.ID // the same values as before
		})
		s.no(err)
		_, err = s.StopRun(s.ctx, same.ID)
		s.no(err)

		fresh, err := try(func(n *svc.NewRun) { n.Fresh, n.Provider = true, "provider_b" })
		s.no(err)
		s.ended(r, 0)
		got := w.dispatched()
		if got.RunID != fresh.ID || got.Provider != "provider_b" || got.Model != "" || *got.Conversation != (wire.Conversation{}) || *fresh.ContinuesRunID != r.ID || fresh.Conversation != nil {
			t.Errorf("a fresh one: %+v as %+v", fresh, got)
		}
	})
}

// A restart may place the run that is waited for on another host, with another workspace and another conversation.
func TestAContinuedRunFollowsARestartToAnotherHost(t *testing.T) {
	bubble(t, func(s *site) {
		one := s.online("one")
		beating := one.keepBeating()
		one.resumes(svc.ConversationMinted)
		first := one.started(s.inRepository(policy(svc.RestartOnFailure)))
		old := *first.WorkspaceID
		second := s.run(continues(first))
		s.ended(first, 1)
		beating()
		one.drop()
		two := s.online("two")
		two.keepBeating()
		two.resumes(svc.ConversationMinted)
		s.pass(time.Minute)
		first = two.started(s.get(first))
		s.ended(first, 0)
		got := two.dispatched()
		if got.RunID != second.ID || got.Workspace.ID == old || got.Workspace.ID != *first.WorkspaceID ||
			*got.Conversation != (wire.Conversation{ID: first.Conversation.ID, Resume: true}) {
			t.Errorf("dispatched %+v, %+v", got, got.Conversation)
		}
	})
}

// A host whose worker was replaced by one without support for conversations would begin a new one.
func TestAConversationIsNotGivenToAWorkerThatIgnoresIt(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.online("h")
		beating := w.keepBeating()
		w.resumes(svc.ConversationByHook)
		first := w.started(s.run())
		s.want(svc.Applied)(s.tells(first, 1, "conv-1"))
		second := s.run(continues(first))
		beating()
		w.drop()
		w.register(wire.CapStop, wire.CapInventory)
		w.connect()
		w.beat()
		w.keepBeating()
		s.ended(first, 0)
		got := s.wantStatus(second, svc.RunFailed)
		if got.Error == nil || !strings.Contains(*got.Error, "too old") {
			t.Errorf("it failed with %v", value(got.Error))
		}
		for _, f := range w.take() {
			if _, given := f.(*wire.RunDispatch); given {
				t.Error("it was given to the old worker")
			}
		}
	})
}
