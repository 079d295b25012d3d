package soak

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"svc"
)

// evidence is all that the judge looks at: what svc says, what it acknowledged, and what really happened.
type evidence struct {
	// What svc says when everything has settled.
	Journal []event            // as it is listed, oldest first
	Readers map[string][]event // what each reader of the event stream got over all its connections
	Runs    map[string]svc.Run // by id
	Items   []svc.WorkItem     //
	Hosts   map[string]string  // host id → name
	Relayed map[attempt][]byte // logs as the orchestrator has them
	AtEnd   map[attempt][]byte // logs as they were when a reader had just seen run.finished
	Screens map[string]string  // the last screen by run; absent: there is none
	Answers []string           // answers that no client should ever get

	// What was acknowledged.
	Ledger []write

	// What really happened.
	Truth    map[attempt]truth
	HostLogs map[hostLog][]byte     // logs as the hosts have them
	Kills    map[attempt]string     // sessions that were killed from outside, and what was killed
	Full     []outage               // full disks, by host name or "orchestrator"
	Down     []outage               // when there was no orchestrator
	Away     []outage               // when a host had no worker, by its name
	Apart    []outage               // when one of several orchestrators could not hand on what it took
	Beats    map[string][]time.Time // host name → when its heartbeats reached the orchestrator
	Left     []string               // processes, sockets and files that are still there

	// OfflineAfter is the silence after which a host is offline.
	OfflineAfter time.Duration
	// DispatchTimeout is how long a run waits for a host.
	DispatchTimeout time.Duration
}

// attempt names one incarnation of a run.
type attempt struct {
	Run    string
	Number int
}

func (a attempt) String() string { return fmt.Sprintf("%s.%d", a.Run, a.Number) }

// hostLog names the file in which one host keeps all attempts of a run that it had.
type hostLog struct{ Host, Run string }

// event is one line of the journal.
type event struct {
	Seq     int64
	Topic   svc.Topic
	Payload map[string]any
	At      time.Time // zero: the stream does not tell
}

func (e event) text(member string) string {
	text, _ := e.Payload[member].(string)
	return text
}

func (e event) number(member string) int {
	n, _ := e.Payload[member].(float64)
	return int(n)
}

// attempt is the incarnation that a run's event is about.
func (e event) attempt() attempt { return attempt{e.text("run_id"), e.number("attempt")} }

// String leaves out the ids, which the message has already, and what is empty.
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

// outage is a time in which something was broken.
type outage struct {
	What     string
	From, To time.Time
}

// covers says whether the outage touches a span, with some room for what was under way.
func (o outage) covers(from, to time.Time) bool {
	const room = 5 * time.Second
	return o.From.Add(-room).Before(to) && o.To.Add(room).After(from)
}

// touches says whether any of the outages touches a span.
func touches(outages []outage, from, to time.Time) bool {
	return slices.ContainsFunc(outages, func(o outage) bool { return o.covers(from, to) })
}

// full says whether a disk was full at some moment of a span.
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
