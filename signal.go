package svc

import "math"

// SignalKind says what a signal reports.
type SignalKind string

// The kinds. All but progress are one-shot: applied once per attempt.
const (
	SignalStarted   SignalKind = "started"
	SignalFinished  SignalKind = "finished"
	SignalCompleted SignalKind = "completed"
	SignalFailed    SignalKind = "failed"
	SignalProgress  SignalKind = "progress"
)

// SignalSource says who reports.
type SignalSource string

// The sources. A manual signal never comes from outside: user actions are
// turned into one inside the orchestrator.
const (
	FromWrapper SignalSource = "wrapper"
	FromHook    SignalSource = "provider-hook"
	FromUser    SignalSource = "manual"
)

// Signal is a report about one attempt of a run. Which payload fields count
// depends on the kind.
type Signal struct {
	RunID   string
	Kind    SignalKind
	Attempt int
	Seq     int64 // progress only
	Source  SignalSource

	ExitCode   int    // finished
	Reason     string // finished and completed; may be empty
	Result     Result // completed
	Error      string // failed
	Message    string // progress
	Percent    *int   // progress; nil: not said
	NeedsInput bool   // progress
	Submitted  string // progress: the PromptDigest of a prompt that the tool was given; empty: none was
	Idle       bool   // progress: the tool is at its prompt, no turn goes on
	PID        *int   // started; nil: not said
	// Conversation is the id by which the tool knows its session with the model: progress and completed; empty: not said.
	Conversation string
	Timestamp    Time    // the sender's clock: kept as evidence, never compared
	NoAttempt    bool    // the sender named none; Attempt is then meaningless
	Via          string  // which endpoint it came through, as evidence
	By           *string // who asked for it; nil: no person did
	// Claim says that it came with the run's own token, which agents hold. An end that is reported so
	// stands, but its host has to confirm that the session is over. SessionOpen says that the host can be asked:
	// until it answers, the session counts as alive.
	Claim, SessionOpen bool
	// LogBytes and LastScreen are what the host says that it relayed before an end: bytes of the log (0: none, or not said), and whether the
	// last screen. An orchestrator that took over from the one that acknowledged them may have less.
	LogBytes   int64
	LastScreen bool
}

// Outcome is what became of a signal. Every outcome means "delivered".
type Outcome string

// The outcomes.
const (
	Applied     Outcome = "applied"
	Duplicate   Outcome = "duplicate"
	DeadAttempt Outcome = "dead_attempt"
	StaleSeq    Outcome = "stale_seq"
	Superseded  Outcome = "superseded"
)

// Validate names every field that is wrong. It does not look at the attempt:
// only the run's row can judge that.
func (s Signal) Validate() error {
	var bad Problems
	oneOf(&bad, "kind", s.Kind, SignalStarted, SignalFinished, SignalCompleted, SignalFailed, SignalProgress)
	oneOf(&bad, "source", s.Source, FromWrapper, FromHook)
	switch s.Kind {
	case SignalFinished:
		if s.ExitCode < math.MinInt32 || s.ExitCode > math.MaxInt32 {
			bad.Add("payload.exit_code", "is out of range")
		}
	case SignalCompleted:
		oneOf(&bad, "payload.result", s.Result, ResultSuccess, ResultPartialSuccess, ResultUserRejected)
		if s.Result == ResultPartialSuccess && s.Reason == "" {
			bad.Add("payload.reason", "is required for partial_success")
		}
	case SignalProgress:
		if s.Percent != nil && (*s.Percent < 0 || *s.Percent > 255) {
			bad.Add("payload.percent", "must be 0 to 255")
		}
		if s.Submitted != "" && !isDigest(s.Submitted) {
			bad.Add("payload.submitted", "must be a SHA-256 in hexadecimal digits")
		}
	}
	if s.Conversation != "" && !IsConversation(s.Conversation) {
		bad.Add("payload.conversation", "must be 1 to %d letters, digits, ., _ and -, the first a letter or a digit", MaxConversation)
	}
	bad.text("payload.reason", s.Reason, maxDescription)
	bad.text("payload.error", s.Error, maxDescription)
	bad.text("payload.message", s.Message, maxDescription)
	return bad.Err()
}

// What is kept of a signal's prose, in bytes: it goes into the journal, which
// keeps it for weeks.
const (
	keptMessage = 2 << 10
	keptReason  = 4 << 10
)

// Cut shortens the prose of a signal to what is kept of it.
func (s *Signal) Cut() {
	s.Message, s.Reason, s.Error = Cut(s.Message, keptMessage), Cut(s.Reason, keptReason), Cut(s.Error, keptReason)
}

// Verdict is what an accepted signal does beyond the run's own fields.
type Verdict struct {
	Outcome    Outcome
	Topic      Topic // empty: nothing is journaled
	EndSession bool  // the attempt is over but its session may be alive
}

// Apply changes the run as a signal of its current attempt asks. The caller has
// passed the guard (attempt, dedup, seq) before.
func (r *Run) Apply(s Signal, now Time) Verdict {
	if s.Kind == SignalCompleted || s.Kind == SignalProgress {
		r.hear(s.Conversation)
	}
	switch s.Kind {
	case SignalStarted:
		return r.applyStarted(now)
	case SignalFinished:
		return r.applyFinished(s, now)
	case SignalFailed:
		return r.applyFailed(s, now)
	case SignalCompleted:
		r.Result, r.ResultReason, r.TurnOver = &s.Result, nil, true
		if s.Reason != "" {
			r.ResultReason = &s.Reason
		}
		return Verdict{Outcome: Applied, Topic: TopicRunSignal}
	default:
		return r.applyProgress(s, now)
	}
}

func (r *Run) applyStarted(now Time) Verdict {
	t, ok := Next(r.Status, OnStarted)
	if !ok {
		return Verdict{Outcome: Superseded, EndSession: r.Status == RunStopped}
	}
	r.Status, r.StartedAt, r.Acked = t.To, &now, true
	return Verdict{Outcome: Applied, Topic: t.Topic}
}

func (r *Run) applyFinished(s Signal, now Time) Verdict {
	code := s.ExitCode
	on := OnExitNonZero
	if code == 0 {
		on = OnExitZero
	}
	r.ExitCode, r.NeedsInput = &code, false
	r.endSession(s, now)
	t, ok := Next(r.Status, on)
	if !ok {
		// failed came first: its run.failed stands for this attempt
		return Verdict{Outcome: Superseded, EndSession: s.SessionOpen}
	}
	r.Status = t.To
	if r.EndedAt == nil {
		r.EndedAt = &now
	}
	return Verdict{Outcome: Applied, Topic: t.Topic, EndSession: s.SessionOpen}
}

// endSession notes that a signal reported the end of the session.
func (r *Run) endSession(s Signal, now Time) {
	r.EndClaimed = s.Claim
	if !s.SessionOpen {
		r.SessionEndedAt = &now
	}
}

func (r *Run) applyFailed(s Signal, now Time) Verdict {
	t, ok := Next(r.Status, OnFailed)
	if !ok {
		return Verdict{Outcome: Superseded}
	}
	r.Status, r.Error, r.EndedAt, r.NeedsInput = t.To, &s.Error, &now, false
	if s.Source == FromWrapper { // a spawn failure: there is no session
		r.endSession(s, now)
	}
	return Verdict{Outcome: Applied, Topic: t.Topic, EndSession: r.SessionEndedAt == nil}
}

func (r *Run) applyProgress(s Signal, now Time) Verdict {
	r.LastProgressSeq = s.Seq
	r.ProgressMessage, r.ProgressPercent = &s.Message, s.Percent
	asks := s.NeedsInput && r.Status.Active()
	if asks && !r.NeedsInput { // else it tells of the same question again
		r.AskedAt = &now
	}
	r.NeedsInput = asks
	switch {
	case s.Idle:
		r.TurnOver = true
	case s.Submitted != "", s.NeedsInput: // a question belongs to a turn
		r.TurnOver = false
	}
	return Verdict{Outcome: Applied, Topic: TopicRunSignal}
}

// Asks says whether the agent waits for the answer to a question, and not just for the next prompt.
func (r *Run) Asks() bool { return r.NeedsInput && !r.TurnOver }

// Reachable says whether the session can be typed into and attached to: it
// runs, or nobody but the run itself has said that it ended.
func (r *Run) Reachable() bool {
	return r.Status == RunRunning || r.outlivesItsEnd() && r.Status != RunStopped
}

// outlivesItsEnd says that the run reported its own end and its session counts
// as alive.
func (r *Run) outlivesItsEnd() bool {
	return r.EndClaimed && !r.Status.Active() && r.SessionEndedAt == nil
}

// Stop is the manual signal: it ends the attempt at once, whatever its session
// does. A run that is not active cannot be stopped, unless its session outlives
// an end that it reported itself: then the session alone is ended.
func (r *Run) Stop(now Time) (Verdict, error) {
	t, ok := Next(r.Status, OnStop)
	if !ok && r.outlivesItsEnd() {
		return Verdict{Outcome: Superseded, EndSession: true}, nil
	}
	if !ok {
		return Verdict{}, Errorf(CodeRunNotActive, "run is %s; only a pending, spawning or running run can be stopped", r.Status).
			With("status", r.Status)
	}
	if r.Status == RunPending {
		r.SessionEndedAt = &now // there never was one
	}
	r.Status, r.EndedAt, r.NeedsInput, r.NextDispatchAt = t.To, &now, false, nil
	return Verdict{Outcome: Applied, Topic: t.Topic, EndSession: r.SessionEndedAt == nil}, nil
}

// Fail ends an attempt of which nobody reported anything.
func (r *Run) Fail(on Trigger, why FailureReason, now Time) (Verdict, bool) {
	t, ok := Next(r.Status, on)
	if !ok {
		return Verdict{}, false
	}
	r.Status, r.FailureReason, r.EndedAt, r.NeedsInput, r.NextDispatchAt = t.To, &why, &now, false, nil
	return Verdict{Outcome: Applied, Topic: t.Topic, EndSession: r.HostID != nil}, true
}
