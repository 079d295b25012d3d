package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"svc"
	"svc/api"
)

// attachWatcher is someone who sees the session.
type attachWatcher struct {
	Name  string `json:"name"`
	Holds bool   `json:"holds"` // has the keyboard
	You   bool   `json:"you"`   // is this terminal
}

// watcherList is who sees the session, as the orchestrator told last. It is empty when an earlier version does not tell.
type watcherList struct {
	people []attachWatcher
	more   int // who is not among them
}

// mostNamed is how many people are named before the others are counted.
const mostNamed = 3

// mine says whether this terminal has the keyboard.
func (l watcherList) mine() bool {
	return slices.ContainsFunc(l.people, func(w attachWatcher) bool { return w.You && w.Holds })
}

// typing says who else types; empty: nobody is known to.
func (l watcherList) typing() string {
	for _, w := range l.people {
		if w.Holds && !w.You {
			return w.Name + " is typing"
		}
	}
	return ""
}

// watching says who else watches, each name once; empty: nobody.
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

// watchesOnly asks whether the person's token lets them watch alone. When that cannot be known, the orchestrator refuses what they type.
func watchesOnly(ctx context.Context, c *api.Client) bool {
	me, err := c.Me(ctx)
	return err == nil && !me.Role.Includes(svc.RoleOperator)
}

// greeting is how the session is shared now, for a line that names session and host.
func (t *attachment) greeting(holder bool) string {
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

// whyNot says why what the person types goes nowhere.
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
