package svc

import "math"

// SignalKind is the kind of a signal.
type SignalKind string

// The kinds. Every kind except progress is applied at most once per attempt.
const (
	SignalStarted   SignalKind = "started"
	SignalFinished  SignalKind = "finished"
	SignalCompleted SignalKind = "completed"
	SignalFailed    SignalKind = "failed"
	SignalProgress  SignalKind = "progress"
)

// SignalSource is the sender of a signal.
type SignalSource string

// The sources. A manual signal is never received from outside: the orchestrator creates it for a person's request.
const (
	FromWrapper SignalSource = "wrapper"
	FromHook    SignalSource = "provider-hook"
	FromUser    SignalSource = "manual"
)

// Signal is a report about one attempt of a run. Which payload fields are used depends on the kind.
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
	Percent    *int   // progress; nil: not reported
	NeedsInput bool   // progress
	Submitted  string // progress: the PromptDigest of a prompt that was submitted to the tool; empty: none was
	Idle       bool   // progress: the tool waits for a prompt, no turn is under way
	PID        *int   // started; nil: not reported
	// Conversation is the id of the tool's session with the model, in progress and completed; empty: not reported.
	Conversation string
	Timestamp    Time    // the sender's clock: stored as evidence, never compared
	NoAttempt    bool    // the sender named no attempt; Attempt is then meaningless
	Via          string  // the endpoint that received it, stored as evidence
	By           *string // the name of the person's token; nil: no person requested it
	// Claim reports whether the signal was sent with the run's own token, which agents hold. An end that is reported
	// in this way is accepted, but the host must confirm that the session is over. SessionOpen reports whether the
	// host can be asked for that; until it responds, the session counts as alive.
	Claim, SessionOpen bool
	// LogBytes and LastScreen describe what the host relayed before an end, as the host reports it: bytes of the log
	// (0: none, or not reported), and whether it relayed the last screen. The current leader may have less of it than
	// the leader that acknowledged it.
	LogBytes   int64
	LastScreen bool
}

// Outcome is the result of handling a signal. Every outcome means that the signal was delivered.
type Outcome string

// The outcomes.
const (
	Applied     Outcome = "applied"
	Duplicate   Outcome = "duplicate"
	DeadAttempt Outcome = "dead_attempt"
	StaleSeq    Outcome = "stale_seq"
	Superseded  Outcome = "superseded"
)

// Validate returns a validation error that names every wrong field, or nil. It does not check the attempt: that needs
// the run's row.
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

// The maximum length of a signal's texts in bytes. They are stored in the journal for weeks.
const (
	keptMessage = 2 << 10
	keptReason  = 4 << 10
)

// Cut shortens the texts of a signal to the length that is stored.
func (s *Signal) Cut() {
	s.Message, s.Reason, s.Error = Cut(s.Message, keptMessage), Cut(s.Reason, keptReason), Cut(s.Error, keptReason)
}

// Verdict is what a signal requires besides the changes to the run's own fields.
type Verdict struct {
	Outcome    Outcome
	Topic      Topic // empty: nothing to journal
	EndSession bool  // the attempt is over, and its session, which may be alive, must be ended
}

// Apply applies a signal of the current attempt to the run. The caller must have checked attempt, duplicates and seq
// before.
func (r *Run) Apply(s Signal, now Time) Verdict {
	if s.Kind == SignalCompleted || s.Kind == SignalProgress {
		r.setConversation(s.Conversation)
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
		// failed came first, and its run.failed is the attempt's only end in the journal
		return Verdict{Outcome: Superseded, EndSession: s.SessionOpen}
	}
	r.Status = t.To
	if r.EndedAt == nil {
		r.EndedAt = &now
	}
	return Verdict{Outcome: Applied, Topic: t.Topic, EndSession: s.SessionOpen}
}

// endSession records that a signal reported the end of the session.
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
	if asks && !r.NeedsInput { // otherwise the signal repeats the same question
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

// Asks reports whether the agent waits for the answer to a question, not just for the next prompt.
func (r *Run) Asks() bool { return r.NeedsInput && !r.TurnOver }

// Reachable reports whether the session can be typed into and attached to: the run is running, or its end was
// reported with the run's own token only.
func (r *Run) Reachable() bool {
	return r.Status == RunRunning || r.outlivesItsEnd() && r.Status != RunStopped
}

// outlivesItsEnd reports whether the run reported its own end while its session still counts as alive.
func (r *Run) outlivesItsEnd() bool {
	return r.EndClaimed && !r.Status.Active() && r.SessionEndedAt == nil
}

// Stop applies a manual stop: it ends the attempt at once, even while its session is still alive. A run that is not
// active cannot be stopped, with one exception: when its session outlives an end that the run reported itself, the
// session alone is ended.
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
		r.SessionEndedAt = &now // it never had a session
	}
	r.Status, r.EndedAt, r.NeedsInput, r.NextDispatchAt = t.To, &now, false, nil
	return Verdict{Outcome: Applied, Topic: t.Topic, EndSession: r.SessionEndedAt == nil}, nil
}

// Fail ends an attempt for which no signal was received.
func (r *Run) Fail(on Trigger, why FailureReason, now Time) (Verdict, bool) {
	t, ok := Next(r.Status, on)
	if !ok {
		return Verdict{}, false
	}
	r.Status, r.FailureReason, r.EndedAt, r.NeedsInput, r.NextDispatchAt = t.To, &why, &now, false, nil
	return Verdict{Outcome: Applied, Topic: t.Topic, EndSession: r.HostID != nil}, true
}
