package agents

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"svc"
	"svc/internal/proctest"
)

// continued tests each entry that can resume conversations: a second run continues the conversation of the first, so
// that the model receives the prompts of both. This also works after a restart of svc or only of the worker, and after
// a stop. If the tool has lost the conversation, it must not begin a new one instead.
func continued(s *site) string {
	entries := s.resuming()
	if can := s.agent.store != ""; can != (len(entries) > 0) {
		s.t.Fatalf("the entries that continue conversations are %q; the tests expect any: %v", entries, can)
	}
	if len(entries) == 0 {
		return "its entries do not say how"
	}
	var told []string
	for _, id := range entries {
		last := s.converse(id)
		s.restartWorker(id)
		early := s.stopFirst(id)
		told = append(told, id+" goes on, also after a restart of svc or of its worker alone, and after a stop; stopped in its first turn: "+early+"; without its store: "+s.loseConversations(last))
	}
	return strings.Join(told, "; ")
}

// resuming returns the ids of the tool's entries that can continue a conversation, as the host reports.
func (s *site) resuming() (ids []string) {
	s.t.Helper()
	providers, err := s.client.Providers(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	for _, p := range providers {
		for _, host := range p.Hosts {
			if host.Resumes && (p.ID == s.agent.pin.tool || p.ID == s.agent.pin.tool+"-tui") {
				ids = append(ids, p.ID)
			}
		}
	}
	return ids
}

// converse makes a conversation of four runs and returns the last. It restarts svc between the first two, and stops the
// third while the model delays its response.
func (s *site) converse(provider string) svc.Run {
	s.t.Helper()
	first := "Remember this word: heliotrope-" + provider
	before := s.turn(s.start(provider, first))
	if c := before.Conversation; c == nil || c.Resumed != svc.ResumedNo {
		s.t.Fatalf("%s: the first run has the conversation %+v; its log:\n%s", provider, c, s.log(before.ID))
	}
	s.up.Stop()
	s.up.Start()
	s.awaitTool()
	second := "And which word was it, " + provider + "?"
	r := s.turn(s.continueRun(before, second))
	s.wantResumed(r, before, first, second)

	thinking := "Think about it, " + provider + ". {{wait: 10m}}"
	stopped := s.stopThinking(s.continueRun(r, thinking), thinking)
	last := "Now say it, " + provider + ". {{wait: 1ms}}"
	r = s.turn(s.continueRun(stopped, last))
	s.wantResumed(r, before, first, second, last)
	return r
}

// restartWorker makes a conversation of three runs on a host whose worker is a separate process. It kills and restarts
// that worker after the first run, and again while the model delays its response in the last.
func (s *site) restartWorker(provider string) {
	s.t.Helper()
	w := s.startSeparateWorker()
	defer w.Stop() // it must not get the runs of other tests
	first := "Remember this number: forty-two " + provider
	before := s.turn(s.svc(append(s.startArgs(provider, first), "--host", w.Name)...))
	s.killWorker(w)
	second := "And which number was it, " + provider + "?"
	r := s.turn(s.continueRun(before, second))
	s.wantResumed(r, before, first, second)

	thinking := "Think about the number, " + provider + ". {{wait: 10s}}"
	id := s.continueRun(r, thinking)
	if err := s.gateway.await(limit, userTextContains(thinking)); err != nil {
		s.t.Fatalf("%v; the log:\n%s", err, s.log(id))
	}
	s.killWorker(w)
	r = s.turn(id)
	s.wantResumed(r, before, first, second, thinking)
	if r.HostID == nil || *r.HostID != w.HostID || r.Result == nil {
		s.t.Errorf("%s: after its worker was killed the run is %s on host %v", provider, show(r), r.HostID)
	}
}

// startSeparateWorker starts a worker in a process other than "svc up", with the same catalog, gateway and home.
func (s *site) startSeparateWorker() *proctest.Worker {
	s.t.Helper()
	if s.apart == nil {
		s.apart = s.newSeparateWorker()
	}
	s.apart.Start()
	s.awaitToolOn(s.apart.Name)
	return s.apart
}

func (s *site) newSeparateWorker() *proctest.Worker {
	s.t.Helper()
	w := proctest.NewWorker(s.up, proctest.WorkerOptions{Name: "apart", Config: s.workerConfig()})
	catalog, err := os.ReadFile(filepath.Join(s.up.Dir, "providers.toml"))
	if err != nil {
		s.t.Fatal(err)
	}
	s.lab.Write(filepath.Join(w.Dir, "providers.toml"), string(catalog))
	w.Setenv("TMPDIR", s.temporary())
	return w
}

// killWorker kills a worker and starts it again.
func (s *site) killWorker(w *proctest.Worker) {
	s.t.Helper()
	w.Kill()
	w.Start()
	s.awaitToolOn(w.Name)
}

// stopThinking stops a run while the gateway delays the response to a prompt.
func (s *site) stopThinking(id, prompt string) svc.Run {
	s.t.Helper()
	if err := s.gateway.await(limit, userTextContains(prompt)); err != nil {
		s.t.Fatalf("%v; the log:\n%s", err, s.log(id))
	}
	s.svc("run", "stop", id)
	return s.ended(id)
}

// wantResumed checks that the tool has reported the same conversation as the run before, and that one request to the
// model had the prompts of all runs.
func (s *site) wantResumed(r, before svc.Run, prompts ...string) {
	s.t.Helper()
	if c := r.Conversation; c == nil || c.ID != before.Conversation.ID || c.Resumed != svc.ResumedYes {
		s.t.Errorf("%s: the continuing run is %s with the conversation %+v, the first had %+v; its log:\n%s", r.Provider, show(r), c, before.Conversation, s.log(r.ID))
	}
	all := func(q question) bool {
		return !slices.ContainsFunc(prompts, func(prompt string) bool { return !userTextContains(prompt)(q) })
	}
	if len(s.gateway.questions(all)) == 0 {
		s.t.Errorf("%s: no request to the model has all of %q; the log:\n%s", r.Provider, prompts, s.log(r.ID))
	}
}

// stopFirst stops a run in its first turn, before the end of a turn was reported. It returns, for the table, whether
// another run can continue the conversation. This is possible if its id is already known and the tool has stored the
// conversation.
func (s *site) stopFirst(provider string) string {
	s.t.Helper()
	first := "Begin with a long thought, " + provider + ". {{wait: 10m}}"
	stopped := s.stopThinking(s.start(provider, first), first)
	next := "Stop thinking, " + provider + ". {{wait: 1ms}}"
	id, err := s.try("run", "continue", stopped.ID, next, "-o", "name")
	switch {
	case err != nil && stopped.Conversation == nil && strings.Contains(err.Error(), "no conversation"):
		return "refused, because the tool has not told the id of its conversation so far"
	case err != nil:
		s.t.Errorf("%s: the run was stopped with the conversation %+v, and cannot be continued: %v", provider, stopped.Conversation, err)
		return ""
	}
	r := s.turn(id)
	if r.Status == svc.RunFailed {
		if n := len(s.gateway.questions(userTextContains(next))); n > 0 && r.Error == nil {
			s.t.Errorf("%s: the model was asked %d times in another conversation", provider, n)
		}
		return "the tool has kept nothing, " + show(r)
	}
	s.wantResumed(r, stopped, next)
	return "goes on"
}

// loseConversations removes the tool's stored conversations. It returns the result of a run that then tries to continue
// one.
func (s *site) loseConversations(before svc.Run) string {
	s.t.Helper()
	store := s.lab.Path(filepath.FromSlash(s.agent.store))
	if entries, err := os.ReadDir(store); err != nil || len(entries) == 0 {
		s.t.Fatalf("the tool has stored nothing in %s: %v", store, err)
	}
	if err := os.RemoveAll(store); err != nil {
		s.t.Fatal(err)
	}
	prompt := "Is anybody there, " + before.Provider + "?"
	r := s.turn(s.continueRun(before, prompt))
	if show(r) != s.agent.lost || r.Conversation == nil || r.Conversation.Resumed != svc.ResumedUnknown {
		s.t.Errorf("%s: without its conversation the run is %s, want %s, %+v; its log:\n%s", before.Provider, show(r), s.agent.lost, r.Conversation, s.log(r.ID))
	}
	if n := len(s.gateway.questions(userTextContains(prompt))); n > 0 {
		s.t.Errorf("%s: the model was asked %d times in another conversation", before.Provider, n)
	}
	return show(r)
}

func interactive(provider string) bool { return strings.HasSuffix(provider, "-tui") }

// continueRun starts a run that continues another one, with "svc run continue", and returns its id.
func (s *site) continueRun(before svc.Run, prompt string) string {
	s.t.Helper()
	return s.svc("run", "continue", before.ID, prompt, "-o", "name")
}

// turn waits for the end of a run. For an interactive run it waits for the end of the turn, and then stops the run.
func (s *site) turn(id string) svc.Run {
	s.t.Helper()
	r := s.awaitRun(id, "its turn is over", func(r svc.Run) bool {
		return r.SessionEndedAt != nil || r.Result != nil && interactive(r.Provider)
	})
	if r.SessionEndedAt == nil {
		s.svc("run", "stop", id)
		r = s.ended(id)
	}
	return r
}
