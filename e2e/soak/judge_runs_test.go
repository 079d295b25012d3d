package soak

import (
	"slices"
	"strconv"
	"time"

	"svc"
)

// startedOnce compares the starts in the agents' notes with the journal.
func startedOnce(f *file, complain complaint) {
	for a, t := range f.Truth {
		if len(t.Starts) > 1 {
			complain("%s was started %d times: on %v", a, len(t.Starts), t.Starts)
		}
		if len(t.Starts) > 0 && t.Starts[0] != f.host(a) {
			complain("%s was started on %v, but dispatched to %q: %v", a, t.Starts, f.host(a), f.eventsOf(a, svc.TopicRunSpawning))
		}
	}
}

// oneEnd finds attempts with more than one end in the journal.
func oneEnd(f *file, complain complaint) {
	for a := range f.events {
		if ends := f.eventsOf(a, svc.TopicRunFinished, svc.TopicRunFailed); len(ends) > 1 {
			complain("%s has %d ends: %v", a, len(ends), ends)
		}
	}
}

// nothingAfterTheEnd finds events of an attempt after its end. A stopped attempt has two end events: no
// output may follow run.stopped, and no other event may follow run.finished.
func nothingAfterTheEnd(f *file, complain complaint) {
	of := []svc.Topic{svc.TopicRunSpawning, svc.TopicRunStarted, svc.TopicRunSignal, svc.TopicRunOutput, svc.TopicRunStopped}
	for a, events := range f.events {
		ended := slices.IndexFunc(events, func(e event) bool {
			return e.Topic == svc.TopicRunFinished || e.Topic == svc.TopicRunFailed
		})
		stopped := slices.IndexFunc(events, func(e event) bool { return e.Topic == svc.TopicRunStopped })
		for i, e := range events {
			if stopped >= 0 && i > stopped && e.Topic == svc.TopicRunOutput {
				complain("%s was stopped with %v, and then: %v", a, events[stopped], e)
			}
			if ended >= 0 && i > ended && contains(of, e.Topic) {
				complain("%s ended with %v, and then: %v", a, events[ended], e)
			}
		}
	}
}

// bySignal are the exit codes of an agent that was ended by a signal.
var bySignal = []int{129, 130, 137, 143}

// trueEnds compares each end in the journal with the agent's notes and with the faults of its session.
func trueEnds(f *file, complain complaint) {
	for a := range f.events {
		for _, e := range f.eventsOf(a, svc.TopicRunFinished) {
			trueExit(f, a, e, complain)
		}
		for _, e := range f.eventsOf(a, svc.TopicRunFailed) {
			t, started := f.Truth[a]
			killedAtItsStart := f.Kills[a] != "" && !started
			if e.text("failure_reason") == "" && !t.Failed && !f.diskWasFull(a) && !killedAtItsStart {
				complain("%s failed without a cause: %v", a, e)
			}
		}
	}
	for id, r := range f.Runs {
		trueStatus(f, attempt{id, r.Attempt}, r, complain)
	}
}

// trueExit compares one run.finished with the agent's notes.
func trueExit(f *file, a attempt, e event, complain complaint) {
	t, started := f.Truth[a]
	code, killed, stopped := e.number("exit_code"), f.Kills[a] != "", f.stopped(a)
	switch {
	case e.text("reason") == "session_lost" && !killed:
		complain("%s has the reason session_lost, but its session was not killed; its agent exited with %s: %v", a, exitText(t.Exit), e)
	case killed:
		// The exit code may be anything, depending on what the wrapper could record.
	case t.Exit != nil && code == *t.Exit:
		// The exit code is correct.
	case stopped && contains(bySignal, code):
		// The stop ended the agent by a signal.
	case stopped && t.Exit == nil && !started:
		// The run was stopped before the agent started.
	case t.Exit != nil:
		complain("%s exited with %d, the journal has %d: %v", a, *t.Exit, code, e)
	case started:
		complain("%s has exit code %d in the journal, but its agent did not reach its end: %v", a, code, e)
	default:
		complain("%s has exit code %d in the journal, but its agent was never started: %v", a, code, e)
	}
}

// exitText returns the text for an exit code that may be missing.
func exitText(code *int) string {
	if code == nil {
		return "no recorded code"
	}
	return strconv.Itoa(*code)
}

// trueStatus compares the run's record with its end in the journal.
func trueStatus(f *file, a attempt, r svc.Run, complain complaint) {
	ends := f.eventsOf(a, svc.TopicRunFinished, svc.TopicRunFailed)
	var want svc.RunStatus
	switch {
	case f.stopped(a):
		want = svc.RunStopped
	case len(ends) == 0:
		return // allEnded complains about it
	case ends[0].Topic == svc.TopicRunFailed || ends[0].number("exit_code") != 0:
		want = svc.RunFailed
	default:
		want = svc.RunExited
	}
	if r.Status != want {
		complain("%s is %s, by the journal it is %s: %v", a, r.Status, want, ends)
	}
	if len(ends) > 0 && ends[0].Topic == svc.TopicRunFinished && (r.ExitCode == nil || *r.ExitCode != ends[0].number("exit_code")) {
		complain("%s has another exit code than %v", a, ends[0])
	}
}

// waitingIsNotFailing finds pending runs that failed too early, or although a host was available for them.
func waitingIsNotFailing(f *file, complain complaint) {
	for a, events := range f.events {
		for _, e := range f.eventsOf(a, svc.TopicRunFailed) {
			reason := e.text("failure_reason")
			if reason == "" || refusedByAll(f, a) {
				continue
			}
			from := events[0].At
			waited := e.At.Sub(from) - overlap(f.Down, from, e.At)
			if waited < f.DispatchTimeout-time.Second {
				complain("%s failed (%s) after only %v in which there was an orchestrator: %v", a, reason, waited.Round(time.Second), events)
			}
			for id, name := range f.Hosts {
				pinned := f.Runs[a.Run].PinnedHostID
				if there := connected(f.Beats[name], from, e.At); (pinned == nil || *pinned == id) && there > f.DispatchTimeout/2 {
					complain("%s failed (%s) although %s was connected for %v: %v", a, reason, name, there.Round(time.Second), events)
				}
			}
		}
	}
}

// overlap returns how much of a span was within outages.
func overlap(outages []outage, from, to time.Time) (sum time.Duration) {
	for _, o := range outages {
		begin, end := o.From, o.To
		if begin.Before(from) {
			begin = from
		}
		if end.After(to) {
			end = to
		}
		sum += max(end.Sub(begin), 0)
	}
	return sum
}

// connected returns for how long heartbeats arrived without a gap within a span.
func connected(beats []time.Time, from, to time.Time) (sum time.Duration) {
	const pause = 2 * time.Second // four times the heartbeat interval
	for i := 1; i < len(beats); i++ {
		gap := beats[i].Sub(beats[i-1])
		if gap < pause && beats[i-1].After(from) && beats[i].Before(to) {
			sum += gap
		}
	}
	return sum
}

// refusedByAll reports whether no host was left for an attempt. A host that refused a dispatch does not get it again.
func refusedByAll(f *file, a attempt) bool {
	refused := map[string]bool{}
	for _, e := range f.eventsOf(a, svc.TopicRunSpawning) {
		refused[e.text("host_id")] = true
	}
	return len(refused) == len(f.Hosts) || len(refused) == 1 && f.Runs[a.Run].PinnedHostID != nil
}

// allEnded finds runs and sessions that have not ended although all faults have ended.
func allEnded(f *file, complain complaint) {
	for id, r := range f.Runs {
		a := attempt{id, r.Attempt}
		if r.Status.Active() {
			complain("%s is still %s: %v", a, r.Status, f.events[a])
		} else if r.SessionEndedAt == nil && len(f.eventsOf(a, svc.TopicRunStarted)) > 0 {
			complain("%s is %s and its session has not ended: %v", a, r.Status, f.events[a])
		}
	}
	for a := range f.Truth {
		if a.Number == f.Runs[a.Run].Attempt && len(f.eventsOf(a, svc.TopicRunFinished, svc.TopicRunFailed)) == 0 {
			complain("%s was started and has no end in the journal: %v", a, f.events[a])
		}
	}
}
