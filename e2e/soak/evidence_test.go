package soak

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"svc"
)

// evidence is the input of the judge: the state that svc reports, the requests that it acknowledged, and what
// really happened.
type evidence struct {
	// The state that svc reports after everything has settled.
	Journal []event            // as listed, oldest first
	Readers map[string][]event // the events that each reader of the stream received over all its connections
	Runs    map[string]svc.Run // by id
	Items   []svc.WorkItem     //
	Hosts   map[string]string  // host id → name
	Relayed map[attempt][]byte // the logs at the orchestrator
	AtEnd   map[attempt][]byte // the logs as they were immediately after a reader received run.finished
	Screens map[string]string  // the last screen by run; absent: there is none
	Answers []string           // responses that no client should ever receive

	// The acknowledged requests.
	Ledger []write

	// What really happened.
	Truth    map[attempt]truth
	HostLogs map[hostLog][]byte     // the logs on the hosts
	Kills    map[attempt]string     // sessions that were killed from outside, and which part was killed
	Full     []outage               // full disks, by host name or "orchestrator"
	Down     []outage               // times without an orchestrator
	Away     []outage               // times in which a host had no worker, by the host's name
	Apart    []outage               // times in which one of several orchestrators could not forward requests to the leader
	Beats    map[string][]time.Time // host name → when its heartbeats reached the orchestrator
	Left     []string               // processes, sockets and files that remain

	// OfflineAfter is the silence after which a host is offline.
	OfflineAfter time.Duration
	// DispatchTimeout is how long a run waits for a host.
	DispatchTimeout time.Duration
}

// attempt identifies one attempt of a run.
type attempt struct {
	Run    string
	Number int
}

func (a attempt) String() string { return fmt.Sprintf("%s.%d", a.Run, a.Number) }

// hostLog identifies the log file of a run on one host, with all attempts that this host had.
type hostLog struct{ Host, Run string }

// event is one event of the journal.
type event struct {
	Seq     int64
	Topic   svc.Topic
	Payload map[string]any
	At      time.Time // zero for an event of the stream, which has no time
}

func (e event) text(member string) string {
	text, _ := e.Payload[member].(string)
	return text
}

func (e event) number(member string) int {
	n, _ := e.Payload[member].(float64)
	return int(n)
}

// attempt returns the attempt that a run's event is about.
func (e event) attempt() attempt { return attempt{e.text("run_id"), e.number("attempt")} }

// String returns the event for a message. It omits the ids, which the message already has, and empty members.
func (e event) String() string {
	var members []string
	for name, value := range e.Payload {
		if !contains([]string{"project_id", "task_id", "run_id", "provider", "session_name", "source"}, name) && value != nil {
			members = append(members, fmt.Sprintf("%s=%v", name, value))
		}
	}
	slices.Sort(members)
	return fmt.Sprintf("seq %d %s at %s (%s)", e.Seq, e.Topic, e.At.Format("15:04:05.000"), strings.Join(members, " "))
}

// outage is a time span of a fault.
type outage struct {
	What     string
	From, To time.Time
}

// covers reports whether the outage overlaps a span, with a margin of some seconds for requests in progress.
func (o outage) covers(from, to time.Time) bool {
	const room = 5 * time.Second
	return o.From.Add(-room).Before(to) && o.To.Add(room).After(from)
}

// touches reports whether any of the outages overlaps a span.
func touches(outages []outage, from, to time.Time) bool {
	return slices.ContainsFunc(outages, func(o outage) bool { return o.covers(from, to) })
}

// full reports whether a disk was full at any time of a span.
func (v *evidence) full(what string, from, to time.Time) bool {
	return touches(slices.DeleteFunc(slices.Clone(v.Full), func(o outage) bool { return o.What != what }), from, to)
}

func contains[T comparable](list []T, v T) bool {
	for _, x := range list {
		if x == v {
			return true
		}
	}
	return false
}
