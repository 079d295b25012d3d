package soak

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	"svc"
)

func itoa(n int) string     { return strconv.Itoa(n) }
func quote(b []byte) string { return strconv.Quote(string(b)) }

// keysOnce compares the acknowledged keys with the lines that the agents read.
func keysOnce(f *file, complain complaint) {
	read := map[string]map[string]int{}
	for a, t := range f.Truth {
		if read[a.Run] == nil {
			read[a.Run] = map[string]int{}
		}
		for _, text := range t.Keys {
			if read[a.Run][text]++; read[a.Run][text] == 2 {
				complain("%s read %q more than once: %q", a, text, t.Keys)
			}
		}
	}
	for _, w := range f.Ledger {
		a := attempt{w.ID, f.Runs[w.ID].Attempt}
		undisturbed := f.Truth[a].Exit != nil && f.Kills[a] == "" && !f.stopped(a)
		if w.What == wroteKeys && undisturbed && read[w.ID][w.Mark] != 1 {
			complain("%s: %q was acknowledged as typed, its agent read %q", a, w.Mark, f.Truth[a].Keys)
		}
	}
}

// reportsArrive compares the agents' accepted reports with the journal.
func reportsArrive(f *file, complain complaint) {
	for a, t := range f.Truth {
		var got, asked []string
		for _, e := range f.eventsOf(a, svc.TopicRunSignal) {
			switch {
			case e.text("kind") != string(svc.SignalProgress):
			case e.Payload["needs_input"] == true:
				asked = append(asked, e.text("message"))
			default:
				got = append(got, e.text("message"))
			}
		}
		undisturbed := t.Exit != nil && f.Kills[a] == "" && !f.stopped(a) && !f.diskWasFull(a)
		if undisturbed && !isPart(t.Progress, got) || hasDuplicate(got) {
			complain("%s reported %q, the journal has %q", a, t.Progress, got)
		}
		if undisturbed && !isPart(t.Asked, asked) || hasDuplicate(asked) {
			complain("%s asked %q, the journal has %q", a, t.Asked, asked)
		}
	}
}

// isPart reports whether whole contains all elements of part in the same order.
func isPart(part, whole []string) bool {
	for _, s := range whole {
		if len(part) > 0 && part[0] == s {
			part = part[1:]
		}
	}
	return len(part) == 0
}

func hasDuplicate(list []string) bool {
	seen := map[string]bool{}
	for _, s := range list {
		if seen[s] {
			return true
		}
		seen[s] = true
	}
	return false
}

// connectedIsOnline compares each worker.offline with the heartbeats that arrived from the host.
func connectedIsOnline(f *file, complain complaint) {
	const (
		slack  = time.Second // for delays on a busy machine
		unread = time.Second // the orchestrator may not have read the newest heartbeats yet
	)
	for _, e := range f.Journal {
		if e.Topic != svc.TopicWorkerOffline {
			continue
		}
		name := f.Hosts[e.text("host_id")]
		var last time.Time
		for _, at := range f.Beats[name] {
			if at.Before(e.At.Add(-unread)) {
				last = at
			}
		}
		if touches(f.Apart, e.At.Add(-f.OfflineAfter), e.At) {
			continue // the heartbeat may have reached an orchestrator that could not forward it to the leader
		}
		if silence := e.At.Sub(last); silence < f.OfflineAfter-slack {
			complain("%s was journaled as offline at %s, only %v after its last heartbeat: %v", name, e.At.Format(time.StampMilli), silence, e)
		}
	}
}

// unmarked matches the command of a process that an agent left behind without the run's environment, with the run and
// the attempt.
var unmarked = regexp.MustCompile(`/unmarked/([0-9a-f-]{36})\.(\d+)`)

// nothingLeft complains about everything that remains on the hosts. Only the wrapper can find a process
// without the run's environment. If the wrapper was killed from outside, such a process may remain.
func nothingLeft(f *file, complain complaint) {
	for _, what := range f.Left {
		if match := unmarked.FindStringSubmatch(what); match != nil {
			n, _ := strconv.Atoi(match[2])
			if strings.Contains(f.Kills[attempt{match[1], n}], "wrapper") {
				continue
			}
		}
		complain("%s", what)
	}
}
