package soak

import (
	"bytes"
	"slices"
	"strings"
	"time"

	"svc"
)

// outputSums compares the bytes that the journal counted with the log. The journal counts nothing after
// run.stopped or run.failed: what a session writes later is only in its log.
func outputSums(f *file, complain complaint) {
	for a, text := range f.Relayed {
		sum := 0
		for _, e := range f.eventsOf(a, svc.TopicRunOutput) {
			sum += e.number("byte_count")
		}
		whole := len(f.eventsOf(a, svc.TopicRunFinished)) > 0 && !f.stopped(a) && !f.orchestratorWasFull(a)
		if sum > len(text) || whole && sum < len(text) {
			complain("%s: the journal counts %d bytes, the log has %d: %v", a, sum, len(text), f.eventsOf(a, svc.TopicRunOutput))
		}
	}
}

// orchestratorWasFull reports whether the orchestrator's disk was full after an attempt had ended. If the orchestrator
// accepts nothing of a log for 10 s, the end is reported without the rest of the log, and the journal counts only what
// was accepted before.
func (f *file) orchestratorWasFull(a attempt) bool {
	t := f.Truth[a]
	return f.full("orchestrator", t.To, t.To.Add(15*time.Second))
}

// sameLogs compares each host's log file with the relayed logs of the attempts that the host had.
func sameLogs(f *file, complain complaint) {
	var attempts []attempt
	for a := range f.Relayed {
		attempts = append(attempts, a)
	}
	slices.SortFunc(attempts, func(a, b attempt) int { return a.Number - b.Number })
	relayed := map[hostLog][]byte{}
	for _, a := range attempts {
		if len(f.Relayed[a]) > 0 {
			at := hostLog{f.host(a), a.Run}
			relayed[at] = append(relayed[at], f.Relayed[a]...)
		}
	}
	for at, text := range f.HostLogs {
		if !bytes.Equal(text, relayed[at]) {
			complain("run %s: %s has %d bytes of log, the orchestrator %d; %s", at.Run, at.Host, len(text), len(relayed[at]), difference(text, relayed[at]))
		}
	}
	for at, text := range relayed {
		if _, ok := f.HostLogs[at]; !ok {
			complain("run %s: the orchestrator has %d bytes of log, %s has no file", at.Run, len(text), at.Host)
		}
	}
}

// trueLogs compares each log with the output of the agent.
func trueLogs(f *file, complain complaint) {
	for a, t := range f.Truth {
		if f.Kills[a] != "" || f.diskWasFull(a) {
			continue // its session was killed, or its log could not be written
		}
		text, want := string(f.Relayed[a]), printed(a, t.Lines)
		if f.stopped(a) {
			text = strings.ReplaceAll(text, "^C", "") // echo of the Ctrl-C with which svc stops a session
		}
		if t.Exit != nil && !f.stopped(a) {
			if text != want {
				complain("%s printed %d bytes, its log has %d; %s", a, len(want), len(text), difference([]byte(want), []byte(text)))
			}
			continue
		}
		most := printed(a, t.Lines+5000) // the agent may have been killed before it noted its last output
		if !strings.HasPrefix(text, want) || !strings.HasPrefix(most, text) {
			complain("%s printed at least %d bytes, its log has %d; %s", a, len(want), len(text), difference([]byte(want), []byte(text)))
		}
	}
}

// difference describes from which byte two texts differ, with an excerpt of both.
func difference(want, got []byte) string {
	at := 0
	for at < min(len(want), len(got)) && want[at] == got[at] {
		at++
	}
	excerpt := func(b []byte) []byte { return b[min(at, len(b)):min(at+120, len(b))] }
	return "from byte " + itoa(at) + " on " + quote(excerpt(want)) + " and " + quote(excerpt(got))
}

// completeAtEnd compares the log as it was when run.finished arrived with the final log.
func completeAtEnd(f *file, complain complaint) {
	for a, then := range f.AtEnd {
		if now := f.Relayed[a]; !bytes.Equal(then, now) && !f.wrapperGaveUp(a) {
			complain("%s had %d of %d bytes of log when run.finished arrived", a, len(then), len(now))
		}
	}
}

// wrapperGaveUp reports whether the wrapper may have reported the end of an attempt by itself. It does so if it waited
// 10 s for a worker. The log is relayed only when the worker is back. A fault kills a worker for up to 3 s; on a busy
// machine the restart takes longer.
func (f *file) wrapperGaveUp(a attempt) bool {
	host, ends := f.host(a), f.eventsOf(a, svc.TopicRunFinished)
	return len(ends) > 0 && slices.ContainsFunc(f.Away, func(o outage) bool {
		return o.What == host && o.To.Sub(o.From) > 8*time.Second && o.covers(ends[0].At, ends[0].At)
	})
}

// lastScreens checks that the last screen of every ended run contains the agent's last line.
func lastScreens(f *file, complain complaint) {
	for id, r := range f.Runs {
		a := attempt{id, r.Attempt}
		t, started := f.Truth[a]
		if !started || t.Lines == 0 || f.Kills[a] != "" || f.diskWasFull(a) || len(f.eventsOf(a, svc.TopicRunFinished)) == 0 {
			continue
		}
		screen, ok := f.Screens[id]
		switch {
		case !ok:
			complain("%s (%s) has no screen", a, r.Status)
		case !strings.Contains(screen, line(a, t.Lines)):
			complain("%s (%s): its last line was %q, its screen ends with %q", a, r.Status, line(a, t.Lines), lastPart(screen))
		}
	}
}

func lastPart(screen string) string {
	screen = strings.TrimRight(screen, "\n ")
	return screen[max(0, len(screen)-150):]
}
