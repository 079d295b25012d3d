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

// keysOnce compares what was typed with what the agents read.
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

// reportsArrive compares what the agents' reports were accepted with the journal.
func reportsArrive(f *file, complain complaint) {
	for a, t := range f.Truth {
		var got, asked []string
		for _, e := range f.told(a, svc.TopicRunSignal) {
			switch {
			case e.text("kind") != string(svc.SignalProgress):
			case e.Payload["needs_input"] == true:
				asked = append(asked, e.text("message"))
			default:
				got = append(got, e.text("message"))
			}
		}
		undisturbed := t.Exit != nil && f.Kills[a] == "" && !f.stopped(a) && !f.diskWasFull(a)
		if undisturbed && !isPart(t.Progress, got) || twice(got) {
			complain("%s reported %q, the journal has %q", a, t.Progress, got)
		}
		if undisturbed && !isPart(t.Asked, asked) || twice(asked) {
			complain("%s asked %q, the journal has %q", a, t.Asked, asked)
		}
	}
}

// isPart says whether all of part is in whole, in its order.
func isPart(part, whole []string) bool {
	for _, s := range whole {
		if len(part) > 0 && part[0] == s {
			part = part[1:]
		}
	}
	return len(part) == 0
}

func twice(list []string) bool {
	seen := map[string]bool{}
	for _, s := range list {
		if seen[s] {
			return true
		}
		seen[s] = true
	}
	return false
}

// connectedIsOnline holds each worker.offline against the heartbeats that came from the host.
func connectedIsOnline(f *file, complain complaint) {
	const (
		slack  = time.Second // a busy machine is late
		unread = time.Second // what came last may not have been read yet
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
			continue // it came to an orchestrator that could not tell the one that leads
		}
		if silence := e.At.Sub(last); silence < f.OfflineAfter-slack {
			complain("%s is told to be offline at %s, %v after a heartbeat of it came: %v", name, e.At.Format(time.StampMilli), silence, e)
		}
	}
}

// unmarked finds the attempt that left a process without the run's environment behind.
var unmarked = regexp.MustCompile(`/unmarked/([0-9a-f-]{36})\.(\d+)`)

// nothingLeft tells what should be gone. A process without the run's environment is known to its wrapper
// alone; when that was killed from outside, nobody can tell whose it is.
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
