package soak

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"svc"
)

// tamper is a violation that is added to good evidence.
type tamper struct {
	rule string // the rule that must find it
	name string
	do   func(*evidence)
}

// The good evidence has three runs: one that exited with 0, one that was stopped, and one that asks.
const (
	runDone    = "11111111-0000-4000-8000-000000000001"
	runStopped = "22222222-0000-4000-8000-000000000002"
	runAsks    = "33333333-0000-4000-8000-000000000003"
	itemOne    = "44444444-0000-4000-8000-000000000004"
	itemTwo    = "55555555-0000-4000-8000-000000000005"
	hostOne    = "66666666-0000-4000-8000-000000000006"
	hostTwo    = "77777777-0000-4000-8000-000000000007"
)

var (
	done    = attempt{runDone, 1}
	stopped = attempt{runStopped, 1}
	asks    = attempt{runAsks, 1}
)

var tampers = []tamper{
	{"acknowledged writes exist once", "a run is not there", func(v *evidence) { delete(v.Runs, runDone) }},
	{"acknowledged writes exist once", "a run was made twice", func(v *evidence) {
		v.add(svc.TopicRunCreated, attempt{"99999999-0000-4000-8000-000000000009", 1}, nil)
	}},
	{"acknowledged writes exist once", "a title is old", func(v *evidence) { v.Items[0].Title = "item c1-1" }},
	{"acknowledged writes exist once", "a deleted item is back", func(v *evidence) { v.Items = append(v.Items, svc.WorkItem{ID: itemTwo}) }},
	{"acknowledged writes exist once", "a stop is forgotten", func(v *evidence) { v.drop(svc.TopicRunStopped, runStopped) }},
	{"the journal has no gap and is the same for all readers", "a seq is missing", func(v *evidence) { v.Journal[3].Seq++ }},
	{"the journal has no gap and is the same for all readers", "a reader missed the last event", func(v *evidence) {
		v.Readers["one"] = v.Readers["one"][:len(v.Readers["one"])-1]
	}},
	{"the journal has no gap and is the same for all readers", "a reader got another payload", func(v *evidence) {
		v.Readers["one"][2].Payload = map[string]any{"run_id": runDone}
	}},
	{"an attempt is started once, on the host that it was given to", "two starts", func(v *evidence) { v.note(done, func(t *truth) { t.Starts = []string{"h1", "h1"} }) }},
	{"an attempt is started once, on the host that it was given to", "another host", func(v *evidence) { v.note(done, func(t *truth) { t.Starts = []string{"h2"} }) }},
	{"an attempt has one end", "run.failed after run.finished", func(v *evidence) { v.add(svc.TopicRunFailed, done, map[string]any{"error": "x"}) }},
	{"nothing of an attempt follows its end", "output after the end", func(v *evidence) {
		v.add(svc.TopicRunOutput, done, map[string]any{"byte_count": 0.0})
	}},
	{"nothing of an attempt follows its end", "output after the stop", func(v *evidence) {
		v.drop(svc.TopicRunFinished, runStopped)
		v.add(svc.TopicRunOutput, stopped, map[string]any{"byte_count": 0.0})
	}},
	{"ends are what really happened", "a false session_lost", func(v *evidence) {
		v.change(svc.TopicRunFinished, done, map[string]any{"exit_code": -1.0, "reason": "session_lost"})
	}},
	{"ends are what really happened", "a wrong exit code", func(v *evidence) { v.note(done, func(t *truth) { t.Exit = ptr(3) }) }},
	{"ends are what really happened", "an end without the agent's", func(v *evidence) { v.note(done, func(t *truth) { t.Exit = nil }) }},
	{"ends are what really happened", "an end of nothing", func(v *evidence) { delete(v.Truth, done) }},
	{"ends are what really happened", "a wrong status", func(v *evidence) { v.record(runDone, func(r *svc.Run) { r.Status = svc.RunFailed }) }},
	{"ends are what really happened", "a wrong exit code in the record", func(v *evidence) { v.record(runDone, func(r *svc.Run) { r.ExitCode = ptr(1) }) }},
	{"ends are what really happened", "a failure for nothing", func(v *evidence) {
		v.drop(svc.TopicRunFinished, runDone)
		v.add(svc.TopicRunFailed, done, map[string]any{"error": "tmux made no session"})
	}},
	{"a waiting run is not failed while there are hosts", "given up for an outage of the orchestrator", func(v *evidence) {
		v.giveUp(2 * time.Minute)
		v.Down = []outage{{"orchestrator", beginning.Add(30 * time.Second), beginning.Add(110 * time.Second)}}
	}},
	{"a waiting run is not failed while there are hosts", "given up although a host was there", func(v *evidence) {
		v.giveUp(2 * time.Minute)
		for i := range 200 {
			v.Beats["h2"] = append(v.Beats["h2"], beginning.Add(time.Duration(i)*500*time.Millisecond))
		}
	}},
	{"every run comes to its end", "still running", func(v *evidence) { v.record(runDone, func(r *svc.Run) { r.Status = svc.RunRunning }) }},
	{"every run comes to its end", "still stopping", func(v *evidence) { v.record(runStopped, func(r *svc.Run) { r.SessionEndedAt = nil }) }},
	{"every run comes to its end", "an end is not journaled", func(v *evidence) { v.drop(svc.TopicRunFinished, runStopped) }},
	{"the sums of output are the log's length", "counted twice", func(v *evidence) {
		v.change(svc.TopicRunOutput, done, map[string]any{"byte_count": float64(2 * len(printed(done, 2)))})
	}},
	{"the sums of output are the log's length", "not counted", func(v *evidence) { v.drop(svc.TopicRunOutput, runDone) }},
	{"the relayed log is the host's", "a byte differs", func(v *evidence) { v.HostLogs[hostLog{"h1", runDone}][5] ^= 1 }},
	{"the relayed log is the host's", "never relayed", func(v *evidence) { v.HostLogs[hostLog{"h2", runDone}] = []byte("svc: nothing was started\r\n") }},
	{"the relayed log is the host's", "no file", func(v *evidence) { delete(v.HostLogs, hostLog{"h1", runDone}) }},
	{"the log is what the agent printed", "a line is missing", func(v *evidence) { v.note(done, func(t *truth) { t.Lines = 3 }) }},
	{"the log is what the agent printed", "a line too many", func(v *evidence) { v.note(done, func(t *truth) { t.Lines = 1 }) }},
	{"the log is what the agent printed", "a noted line of a stopped run is missing", func(v *evidence) { v.note(stopped, func(t *truth) { t.Lines = 4 }) }},
	{"the log is complete when the end is journaled", "incomplete", func(v *evidence) { v.AtEnd[done] = v.AtEnd[done][:10] }},
	{"the last screen is kept", "no screen", func(v *evidence) { delete(v.Screens, runDone) }},
	{"the last screen is kept", "an old screen", func(v *evidence) { v.Screens[runStopped] = "line 1 of something else" }},
	{"keys are typed once", "typed twice", func(v *evidence) { v.note(asks, func(t *truth) { t.Keys = []string{"typedx", "typedx", "end"} }) }},
	{"keys are typed once", "acknowledged and not typed", func(v *evidence) { v.note(asks, func(t *truth) { t.Keys = []string{"end"} }) }},
	{"reports of agents arrive in order", "a report is lost", func(v *evidence) { v.note(done, func(t *truth) { t.Progress = []string{"step 1", "step 2"} }) }},
	{"reports of agents arrive in order", "a question is lost", func(v *evidence) { v.drop(svc.TopicRunSignal, runAsks) }},
	{"reports of agents arrive in order", "a report comes twice", func(v *evidence) {
		v.add(svc.TopicRunSignal, done, map[string]any{"kind": "progress", "message": "step 1", "needs_input": false})
	}},
	{"a connected host is not offline", "offline while heartbeats came", func(v *evidence) {
		v.add(svc.TopicWorkerOffline, attempt{}, map[string]any{"host_id": hostOne})
		v.Beats["h1"] = append(v.Beats["h1"], v.Journal[len(v.Journal)-1].At.Add(-2*time.Second))
	}},
	{"nothing is left behind on hosts", "a process", func(v *evidence) { v.Left = []string{"process sleep"} }},
	{"nothing is left behind on hosts", "a process without a mark whose wrapper lived", func(v *evidence) {
		v.Left = []string{"process sh /x/litter/unmarked/" + done.String()}
		v.Kills[done] = "tmux"
	}},
	{"answers are those of the contract", "a 500", func(v *evidence) { v.Answers = []string{"create run c1-7: internal"} }},
}

func TestTheJudgeFindsEverySeededViolation(t *testing.T) {
	t.Parallel()
	if found := judge(goodEvidence()); len(found) > 0 {
		t.Fatalf("good evidence has violations: %v", found)
	}
	proven := map[string]bool{}
	for _, c := range tampers {
		v := goodEvidence()
		c.do(v)
		if !slices.ContainsFunc(judge(v), func(found violation) bool { return found.rule == c.rule }) {
			t.Errorf("%s is not found by the rule %q; found: %v", c.name, c.rule, judge(v))
		}
		proven[c.rule] = true
	}
	for _, r := range rules {
		if !proven[r.name] {
			t.Errorf("no tamper violates the rule %q", r.name)
		}
	}
}

func ptr[T any](v T) *T { return &v }

// goodEvidence returns small evidence without a violation.
func goodEvidence() *evidence {
	v := &evidence{
		Readers: map[string][]event{}, Runs: map[string]svc.Run{}, Hosts: map[string]string{hostOne: "h1", hostTwo: "h2"},
		Items:   []svc.WorkItem{{ID: itemOne, Title: "renamed c1-2"}},
		Relayed: map[attempt][]byte{}, AtEnd: map[attempt][]byte{}, Screens: map[string]string{}, Truth: map[attempt]truth{},
		HostLogs: map[hostLog][]byte{}, Kills: map[attempt]string{}, Beats: map[string][]time.Time{"h1": {beginning}},
		OfflineAfter: 6 * time.Second, DispatchTimeout: time.Minute,
		Ledger: []write{
			{wroteItem, itemOne, "item c1-1"},
			{wroteTitle, itemOne, "renamed c1-2"},
			{wroteItem, itemTwo, "item c1-3"},
			{wroteDelete, itemTwo, ""},
			{wroteStop, runStopped, ""},
			{wroteKeys, runAsks, "typedx"},
		},
	}
	v.add(svc.TopicItemCreated, attempt{}, map[string]any{"task_id": itemOne})
	v.add(svc.TopicItemCreated, attempt{}, map[string]any{"task_id": itemTwo})
	v.add(svc.TopicItemDeleted, attempt{}, map[string]any{"task_id": itemTwo})
	v.run(done, svc.RunExited, 0, truth{Starts: []string{"h1"}, Lines: 2, Progress: []string{"step 1"}, Exit: ptr(0)})
	v.run(stopped, svc.RunStopped, 137, truth{Starts: []string{"h1"}, Lines: 1})
	v.run(asks, svc.RunExited, 0, truth{Starts: []string{"h1"}, Lines: 2, Asked: []string{"question"}, Keys: []string{"typedx", "end"}, Exit: ptr(0)})
	v.Readers["one"] = slices.Clone(v.Journal)
	return v
}

var beginning = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// add adds an event of an attempt to the journal, one second after the event before.
func (v *evidence) add(topic svc.Topic, a attempt, more map[string]any) {
	payload := map[string]any{}
	if a.Run != "" {
		payload["run_id"], payload["attempt"] = a.Run, float64(a.Number)
	}
	maps.Copy(payload, more)
	seq := len(v.Journal) + 1
	v.Journal = append(v.Journal, event{int64(seq), topic, payload, beginning.Add(time.Duration(seq) * time.Second)})
}

// drop removes a run's events of a topic from the journal.
func (v *evidence) drop(topic svc.Topic, run string) {
	v.Journal = slices.DeleteFunc(v.Journal, func(e event) bool { return e.Topic == topic && e.text("run_id") == run })
}

// change changes members of an attempt's event of a topic.
func (v *evidence) change(topic svc.Topic, a attempt, members map[string]any) {
	for i, e := range v.Journal {
		if e.Topic == topic && e.attempt() == a {
			v.Journal[i].Payload = maps.Clone(e.Payload)
			maps.Copy(v.Journal[i].Payload, members)
		}
	}
}

// giveUp makes the first run fail because there was no host.
func (v *evidence) giveUp(after time.Duration) {
	v.drop(svc.TopicRunSpawning, runDone)
	v.add(svc.TopicRunFailed, done, map[string]any{"failure_reason": "no_eligible_host"})
	v.Journal[len(v.Journal)-1].At = beginning.Add(after)
}

func (v *evidence) note(a attempt, change func(*truth)) {
	t := v.Truth[a]
	change(&t)
	v.Truth[a] = t
}

func (v *evidence) record(id string, change func(*svc.Run)) {
	r := v.Runs[id]
	change(&r)
	v.Runs[id] = r
}

// run adds a run with all its events, logs and notes.
func (v *evidence) run(a attempt, status svc.RunStatus, code int, t truth) {
	text := []byte(printed(a, t.Lines))
	v.add(svc.TopicRunCreated, a, nil)
	v.add(svc.TopicRunSpawning, a, map[string]any{"host_id": hostOne})
	v.add(svc.TopicRunStarted, a, nil)
	for _, message := range t.Progress {
		v.add(svc.TopicRunSignal, a, map[string]any{"kind": "progress", "message": message, "needs_input": false})
	}
	for _, message := range t.Asked {
		v.add(svc.TopicRunSignal, a, map[string]any{"kind": "progress", "message": message, "needs_input": true})
	}
	v.add(svc.TopicRunOutput, a, map[string]any{"byte_count": float64(len(text))})
	if status == svc.RunStopped {
		v.add(svc.TopicRunStopped, a, nil)
	}
	v.add(svc.TopicRunFinished, a, map[string]any{"exit_code": float64(code)})
	ended := svc.TimeOf(beginning)
	v.Runs[a.Run] = svc.Run{ID: a.Run, Attempt: a.Number, Status: status, ExitCode: &code, SessionEndedAt: &ended, StartedAt: &ended}
	v.Truth[a], v.Relayed[a], v.AtEnd[a] = t, slices.Clone(text), slices.Clone(text)
	v.HostLogs[hostLog{"h1", a.Run}] = slices.Clone(text)
	v.Screens[a.Run] = string(text)
	v.Ledger = append(v.Ledger, write{wroteRun, a.Run, fmt.Sprint("c1-", len(v.Ledger))})
}
