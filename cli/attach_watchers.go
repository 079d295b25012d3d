package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"svc"
	"svc/api"
)

// attachWatcher is a client that sees the session.
type attachWatcher struct {
	Name  string `json:"name"`
	Holds bool   `json:"holds"` // holds the lease, and so may type
	You   bool   `json:"you"`   // is this terminal
}

// watcherList is the list of clients that see the session, as the orchestrator last sent it. It is empty when the
// orchestrator is of a version that does not send it.
type watcherList struct {
	people []attachWatcher
	more   int // how many are not in people
}

// mostNamed is how many people are named before the others are counted.
const mostNamed = 3

// mine reports whether this terminal may type.
func (l watcherList) mine() bool {
	return slices.ContainsFunc(l.people, func(w attachWatcher) bool { return w.You && w.Holds })
}

// typing names the other client that may type; empty: no other client is known to.
func (l watcherList) typing() string {
	for _, w := range l.people {
		if w.Holds && !w.You {
			return w.Name + " is typing"
		}
	}
	return ""
}

// watching names the other clients that watch, each name once; empty: there are none.
func (l watcherList) watching() string {
	var names []string
	for _, w := range l.people {
		if !w.Holds && !w.You && !slices.Contains(names, w.Name) {
			names = append(names, w.Name)
		}
	}
	more := l.more
	if len(names) > mostNamed {
		more += len(names) - mostNamed
		names = names[:mostNamed]
	}
	switch {
	case more > 0:
		return fmt.Sprintf("%s and %d more watch", strings.Join(names, ", "), more)
	case len(names) == 0:
		return ""
	case len(names) == 1:
		return names[0] + " watches"
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last] + " watch"
}

// watchesOnly reports whether the user's token only allows watching. It returns false when that cannot be read; the
// orchestrator then refuses what the user types.
func watchesOnly(ctx context.Context, c *api.Client) bool {
	me, err := c.Me(ctx)
	return err == nil && !me.Role.Includes(svc.RoleOperator)
}

// sharing describes how the session is shared now, as the end of a line that names session and host.
func (t *attachment) sharing(holder bool) string {
	parts := []string{}
	switch typing := t.list.typing(); {
	case holder:
	case typing == "" && t.viewer:
		parts = append(parts, "nobody is typing")
	case t.viewer:
		parts = append(parts, typing)
	default:
		if typing == "" {
			typing = "someone else is typing"
		}
		parts = append(parts, typing+", and you may when they leave")
	}
	if watching := t.list.watching(); watching != "" {
		parts = append(parts, watching)
	}
	return strings.Join(parts, "; ")
}

// whyNot says why the user's input is not sent.
func (t *attachment) whyNot() string {
	typing := t.list.typing()
	switch {
	case t.viewer:
		return "your token may watch but not type"
	case typing == "":
		typing = "someone else is typing"
	}
	return typing + "; you may when they leave"
}
