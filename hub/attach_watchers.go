package hub

import (
	"bytes"
	"slices"
	"sync"
	"time"

	"svc"
)

// The list of people who see a run's terminal, for the clients that request it ([Person.Lists]).

// mostWatchers limits the entries of a list; the others are only counted.
const mostWatchers = 50

// The modes of a watcher.
const (
	watcherAttached = "attached" // on the attach socket
	watcherLive     = "live"     // only on the pane socket: sees the screen and cannot type
)

// watcher is one entry of the list: an attached client, or a person on the pane socket.
type watcher struct {
	Name  string   `json:"name"`
	Mode  string   `json:"mode"`
	Holds bool     `json:"holds"` // it holds the lease
	You   bool     `json:"you"`   // it is the client that receives the list
	Since svc.Time `json:"since"`
}

type watchersFrame struct {
	Type     string    `json:"type"`
	Watchers []watcher `json:"watchers"`
	More     int       `json:"more"` // how many are not in the list
}

// viewer is a person who sees a run's screen without being attached.
type viewer struct {
	name  string
	since svc.Time
}

// Look adds a person to those who see a run's screen, until leave is called. leave may be called more than once.
func (h *Attachments) Look(runID, name string) (leave func()) {
	l := &viewer{name: name, since: svc.TimeOf(time.Now())}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.viewers[runID] = append(h.viewers[runID], l)
	h.watchersChanged(h.runs[runID])
	return sync.OnceFunc(func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.viewers[runID] = slices.DeleteFunc(h.viewers[runID], func(other *viewer) bool { return other == l })
		if len(h.viewers[runID]) == 0 {
			delete(h.viewers, runID)
		}
		h.watchersChanged(h.runs[runID])
	})
}

// watchersChanged marks the list as stale for each client of a session that requested it. s may be nil: no client is
// attached. The caller holds Attachments.mu.
func (h *Attachments) watchersChanged(s *session) {
	if s == nil {
		return
	}
	for _, a := range s.people {
		if a.who.Lists {
			a.mu.Lock()
			a.listStale = true
			wakeUp(a.wake)
			a.mu.Unlock()
		}
	}
}

// list returns the people who see the session of a client: the attached clients in the order in which they joined,
// then each person who only sees the screen, once. The holder and the client itself are always included. more is the
// number of those who are left out. The caller holds Attachments.mu.
func (h *Attachments) list(a *Attachment) (list []watcher, more int) {
	s := a.session
	room := mostWatchers - 1
	if s.holder != nil && s.holder != a {
		room--
	}
	seen := map[string]bool{}
	for _, p := range s.people {
		seen[p.who.Name] = true
		if p != a && p != s.holder {
			if room == 0 {
				more++
				continue
			}
			room--
		}
		list = append(list, watcher{Name: p.who.Name, Mode: watcherAttached, Holds: p == s.holder, You: p == a, Since: p.joined})
	}
	for _, l := range h.viewers[s.RunID] {
		switch {
		case seen[l.name]:
			continue
		case room == 0:
			more++
		default:
			room--
			list = append(list, watcher{Name: l.name, Mode: watcherLive, Since: l.since})
		}
		seen[l.name] = true
	}
	return list, more
}

// nextList returns the frame with the list, built at the moment of sending so that it is current. It returns nil when
// nothing has changed, when the client did not request the list, or when it got one less than 100 ms ago.
func (a *Attachment) nextList(now time.Time) []byte {
	if a.listWait(now) != 0 {
		return nil
	}
	a.hub.mu.Lock()
	defer a.hub.mu.Unlock()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.listStale = false
	list, more := a.hub.list(a)
	f := frame(watchersFrame{"watchers", list, more})
	if bytes.Equal(f, a.listSent) {
		return nil
	}
	a.listSent, a.listAfter, a.writing = f, now.Add(frameEvery), true
	return f
}

// listWait returns how long the list must wait: 0 when it is due, negative when there is nothing new to send.
func (a *Attachment) listWait(now time.Time) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.listStale || a.end != nil {
		return -1
	}
	return max(a.listAfter.Sub(now), 0)
}
