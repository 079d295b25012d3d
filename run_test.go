package svc_test

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"svc"
)

const now = svc.Time(1_000_000)

func ptr[T any](v T) *T { return &v }

// applied lists the effect of a signal on a run in each status, in the order of svc.RunStatuses. "-" means
// superseded; a status means applied with a transition to it and the topic; "=" means applied without a change of
// status.
var applied = []struct {
	signal svc.Signal
	topic  svc.Topic
	want   [6]string
}{
	{svc.Signal{Kind: svc.SignalStarted}, svc.TopicRunStarted, [6]string{"-", "running", "-", "-", "-", "-"}},
	{svc.Signal{Kind: svc.SignalFinished}, svc.TopicRunFinished, [6]string{"-", "exited", "exited", "-", "-", "="}},
	{svc.Signal{Kind: svc.SignalFinished, ExitCode: 3}, svc.TopicRunFinished, [6]string{"-", "failed", "failed", "-", "-", "="}},
	{svc.Signal{Kind: svc.SignalFinished, ExitCode: -1, Reason: "session_lost"}, svc.TopicRunFinished, [6]string{"-", "failed", "failed", "-", "-", "="}},
	{svc.Signal{Kind: svc.SignalFailed, Source: svc.FromHook, Error: "e"}, svc.TopicRunFailed, [6]string{"-", "failed", "failed", "-", "-", "-"}},
	{svc.Signal{Kind: svc.SignalFailed, Source: svc.FromWrapper, Error: "e"}, svc.TopicRunFailed, [6]string{"-", "failed", "failed", "-", "-", "-"}},
	{svc.Signal{Kind: svc.SignalCompleted, Result: svc.ResultSuccess}, svc.TopicRunSignal, [6]string{"=", "=", "=", "=", "=", "="}},
	{svc.Signal{Kind: svc.SignalProgress, Seq: 9, Message: "m"}, svc.TopicRunSignal, [6]string{"=", "=", "=", "=", "=", "="}},
}

func TestSignalsDoWhatTheTableSaysInEveryStatus(t *testing.T) {
	t.Parallel()
	for _, c := range applied {
		for i, from := range svc.RunStatuses {
			name := fmt.Sprintf("%s %d of %s in %s", c.signal.Kind, c.signal.ExitCode, c.signal.Source, from)
			r := svc.Run{Status: from, HostID: ptr("h"), Attempt: 1}
			v := r.Apply(c.signal, now)
			want := svc.Verdict{Outcome: svc.Applied, Topic: c.topic}
			status := svc.RunStatus(c.want[i])
			switch c.want[i] {
			case "-":
				want, status = svc.Verdict{Outcome: svc.Superseded}, from
			case "=":
				status = from
			}
			// A session may still exist when its start is reported after a stop, and when a hook reports a failure.
			want.EndSession = c.signal.Kind == svc.SignalStarted && from == svc.RunStopped ||
				c.signal.Kind == svc.SignalFailed && c.signal.Source == svc.FromHook && want.Outcome == svc.Applied
			if v != want || r.Status != status {
				t.Errorf("%s: %+v and %s, want %+v and %s", name, v, r.Status, want, status)
			}
		}
	}
}

func TestFinishedNotesTheSessionsEndInEveryStatus(t *testing.T) {
	t.Parallel()
	for _, from := range svc.RunStatuses {
		ended := svc.Time(5)
		r := svc.Run{Status: from, HostID: ptr("h"), NeedsInput: true}
		if !from.Active() {
			r.EndedAt = &ended
		}
		r.Apply(svc.Signal{Kind: svc.SignalFinished, ExitCode: 7}, now)
		if r.ExitCode == nil || *r.ExitCode != 7 || r.SessionEndedAt == nil || *r.SessionEndedAt != now || r.NeedsInput || r.SessionOpen() {
			t.Errorf("%s: exit code %v, session ended %v, needs input %v", from, r.ExitCode, r.SessionEndedAt, r.NeedsInput)
		}
		if !from.Active() && *r.EndedAt != ended {
			t.Errorf("%s: the end moved to %v", from, *r.EndedAt)
		}
	}
}

func TestFailedKeepsTheErrorAndKnowsWhetherThereIsASession(t *testing.T) {
	t.Parallel()
	for source, open := range map[svc.SignalSource]bool{svc.FromHook: true, svc.FromWrapper: false} {
		r := svc.Run{Status: svc.RunSpawning, HostID: ptr("h"), NeedsInput: true}
		r.Apply(svc.Signal{Kind: svc.SignalFailed, Source: source, Error: "no such file"}, now)
		if *r.Error != "no such file" || *r.EndedAt != now || r.NeedsInput || r.SessionOpen() != open {
			t.Errorf("failed by %s: %+v", source, r)
		}
	}
}

func TestProgressAndCompletedAreNoted(t *testing.T) {
	t.Parallel()
	r := svc.Run{Status: svc.RunRunning}
	r.Apply(svc.Signal{Kind: svc.SignalProgress, Seq: 9, Message: "half", Percent: ptr(50), NeedsInput: true}, now)
	if r.LastProgressSeq != 9 || *r.ProgressMessage != "half" || *r.ProgressPercent != 50 || !r.NeedsInput {
		t.Errorf("after progress: %+v", r)
	}
	r.Apply(svc.Signal{Kind: svc.SignalProgress, Seq: 10, Message: "on"}, now)
	if r.NeedsInput || r.ProgressPercent != nil {
		t.Errorf("a later progress left needs_input %v and percent %v", r.NeedsInput, r.ProgressPercent)
	}
	r.Apply(svc.Signal{Kind: svc.SignalCompleted, Result: svc.ResultPartialSuccess, Reason: "tests"}, now)
	if *r.Result != svc.ResultPartialSuccess || *r.ResultReason != "tests" {
		t.Errorf("after completed: %v %v", *r.Result, r.ResultReason)
	}
	r.Status = svc.RunExited
	r.Apply(svc.Signal{Kind: svc.SignalProgress, Seq: 11, NeedsInput: true}, now)
	if r.NeedsInput {
		t.Error("a run that ended needs input")
	}
}

func TestStopEndsActiveRunsOnly(t *testing.T) {
	t.Parallel()
	for _, from := range svc.RunStatuses {
		r := svc.Run{Status: from, NeedsInput: true, NextDispatchAt: ptr(now)}
		if from != svc.RunPending {
			r.HostID = ptr("h")
		}
		v, err := r.Stop(now)
		if !from.Active() {
			if svc.CodeOf(err) != svc.CodeRunNotActive || r.Status != from {
				t.Errorf("a stop of %s: %v, then %s", from, err, r.Status)
			}
			continue
		}
		if err != nil || v.Topic != svc.TopicRunStopped || r.Status != svc.RunStopped || *r.EndedAt != now || r.NeedsInput || r.NextDispatchAt != nil {
			t.Errorf("a stop of %s: %+v %v %+v", from, v, err, r)
		}
		if open := from != svc.RunPending; v.EndSession != open || r.SessionOpen() != open {
			t.Errorf("a stop of %s: end session %v, session open %v", from, v.EndSession, r.SessionOpen())
		}
	}
}

func TestOnlyAWaitingRunTimesOutAndOnlyAPlacedOneIsLost(t *testing.T) {
	t.Parallel()
	for on, legal := range map[svc.Trigger]map[svc.RunStatus]bool{
		svc.OnDispatchTimeout: {svc.RunPending: true},
		svc.OnHostLost:        {svc.RunSpawning: true, svc.RunRunning: true},
	} {
		for _, from := range svc.RunStatuses {
			r := svc.Run{Status: from, NeedsInput: true}
			v, ok := r.Fail(on, svc.ReasonHostLost, now)
			if ok != legal[from] {
				t.Errorf("%s in %s: %v", on, from, ok)
			}
			if ok && (v.Topic != svc.TopicRunFailed || r.Status != svc.RunFailed || *r.FailureReason != svc.ReasonHostLost || r.NeedsInput) {
				t.Errorf("%s in %s: %+v %+v", on, from, v, r)
			}
		}
	}
}

func TestRestartPolicies(t *testing.T) {
	t.Parallel()
	for policy, restarts := range map[svc.RestartPolicy][]svc.RunStatus{
		svc.RestartNever:     nil,
		svc.RestartOnFailure: {svc.RunFailed},
		svc.RestartAlways:    {svc.RunFailed, svc.RunExited},
	} {
		for _, status := range svc.RunStatuses {
			want := false
			for _, s := range restarts {
				want = want || s == status
			}
			r := svc.Run{Status: status, RestartPolicy: policy, Attempt: 3, MaxRestarts: 3}
			if got := r.MayRestart(); got != want {
				t.Errorf("%s after %s: %v", policy, status, got)
			}
			r.Attempt = 4
			if r.MayRestart() {
				t.Errorf("%s after %s: a fourth restart of three", policy, status)
			}
			r.Attempt, r.FailureReason = 1, ptr(svc.ReasonNoEligibleHost)
			if r.MayRestart() {
				t.Errorf("%s after %s: a restart although no host fits", policy, status)
			}
			r.FailureReason = ptr(svc.ReasonDispatchTimeout)
			if got := r.MayRestart(); got != want {
				t.Errorf("%s after %s by timeout: %v", policy, status, got)
			}
		}
	}
}

// TestRequeueForgetsTheAttempt sets every field of a run and checks that Requeue either keeps or resets it: a field
// that is added later must be put on one of the two lists.
func TestRequeueForgetsTheAttempt(t *testing.T) {
	t.Parallel()
	kept := map[string]bool{}
	for _, f := range []string{"ID", "TaskID", "TaskTitle", "TaskNumber", "ProjectID", "ProjectSlug", "Provider", "SessionName", "PinnedHostID", "Prompt", "Args", "Model", "Cwd", "Env",
		"RestartPolicy", "MaxRestarts", "Wait", "Priority", "NotBefore", "HostLabels", "IgnoreNeeds", "Blocked", "UnblockedAt", "LastOutputAt", "WorkspaceID", "ContinuesRunID", "Resumes", "CreatedBy", "CreatedAt", "UpdatedAt", "Version", "TaskManualMarks"} {
		kept[f] = true
	}
	var full svc.Run
	v := reflect.ValueOf(&full).Elem()
	for i := range v.NumField() {
		fill(v.Field(i))
	}
	full.Attempt = 4
	r := full
	r.Requeue(now, now+9)
	goesOn := svc.Conversation{ID: full.Conversation.ID, Source: full.Conversation.Source, Resumed: svc.ResumedUnknown} // the next attempt must confirm it again
	want := map[string]any{"Conversation": &goesOn, "Status": svc.RunPending, "Attempt": 5, "PendingSince": now, "NextDispatchAt": ptr(now + 9),
		"PastHosts": append(slices.Clone(full.PastHosts), *full.HostID)}
	for i := range v.NumField() {
		name := v.Type().Field(i).Name
		got := reflect.ValueOf(r).Field(i)
		switch set, isSet := want[name]; {
		case isSet:
			if !reflect.DeepEqual(got.Interface(), set) {
				t.Errorf("%s is %v, want %v", name, got, set)
			}
		case kept[name]:
			if !reflect.DeepEqual(got.Interface(), v.Field(i).Interface()) {
				t.Errorf("%s changed to %v", name, got)
			}
		case !got.IsZero():
			t.Errorf("%s of the last attempt is still %v", name, got)
		}
	}
}

func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(7)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.ValueOf("k"), reflect.ValueOf("v"))
	}
}

func TestSessionOpen(t *testing.T) {
	t.Parallel()
	for status, want := range map[svc.RunStatus][3]bool{ // no host; host; host and ended
		svc.RunPending:  {false, false, false},
		svc.RunSpawning: {true, true, true},
		svc.RunRunning:  {true, true, true},
		svc.RunExited:   {false, true, false},
		svc.RunFailed:   {false, true, false},
		svc.RunStopped:  {false, true, false},
	} {
		for i, r := range []svc.Run{{}, {HostID: ptr("h")}, {HostID: ptr("h"), SessionEndedAt: ptr(now)}} {
			r.Status = status
			if got := r.SessionOpen(); got != want[i] {
				t.Errorf("%s, case %d: %v", status, i, got)
			}
		}
	}
}

func TestRestartDelayDoublesBetweenItsBounds(t *testing.T) {
	t.Parallel()
	for attempt, least := range map[int]float64{0: 1, 1: 1, 2: 2, 3: 4, 7: 64, 8: 128, 9: 150, 10: 150, 1_000_000: 150} {
		if got := svc.RestartDelay(attempt, 0).Seconds(); got != least {
			t.Errorf("attempt %d without jitter waits %v s, want %v s", attempt, got, least)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		attempt := rapid.IntRange(1, 1_000_000).Draw(t, "attempt")
		jitter := rapid.Float64Range(0, 0.999999).Draw(t, "jitter")
		got, low := svc.RestartDelay(attempt, jitter), svc.RestartDelay(attempt, 0)
		if got < low || got > 2*low || got < time.Second || got > 5*time.Minute {
			t.Fatalf("attempt %d, jitter %v: %v", attempt, jitter, got)
		}
		if next := svc.RestartDelay(attempt+1, 0); next < low {
			t.Fatalf("attempt %d waits at least %v, the next %v", attempt, low, next)
		}
	})
}

func TestARunKnowsWhichHostWasGivenWhichAttempt(t *testing.T) {
	t.Parallel()
	r := svc.Run{Attempt: 1, PastHosts: []string{}}
	give := func(host string) {
		if host != "" {
			r.HostID = &host
		}
	}
	hosts := []string{"a", "", "b", "a", "c"} // the hosts of the attempts; the second attempt was never placed
	for i, host := range hosts {
		if i > 0 {
			r.Requeue(now, now)
		}
		give(host)
	}
	for i, want := range append(hosts, "") {
		if got := r.HostOf(i + 1); got != want {
			t.Errorf("attempt %d was given to %q, want %q", i+1, got, want)
		}
	}
	if got := r.HostOf(0); got != "" {
		t.Errorf("attempt 0 was given to %q", got)
	}
	for range 200 {
		r.Requeue(now, now)
		give("d")
	}
	if got := len(r.PastHosts); got > 64 {
		t.Errorf("%d hosts are kept", got)
	}
	if got := r.HostOf(1); got != "d" { // no longer stored: the current host
		t.Errorf("an attempt of long ago counts as %q's", got)
	}
}
