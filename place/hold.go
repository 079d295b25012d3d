package place

import (
	"fmt"
	"strings"

	"svc"
)

// Gate is everything, apart from hosts, that may hold a run back.
type Gate struct {
	NotBefore *svc.Time // chosen by the caller
	BackOff   *svc.Time // end of the restart's back-off
	Unmet     []Unmet   // items that the run's own item needs and that are not done
	Busy      bool      // another run uses the workspace that this run continues in
	Follows   bool      // the run that this one continues is not over
	Project   Project
}

// Unmet is an item that the run's work item needs and that is not done.
type Unmet struct{ ID, Ref string }

// mostNamed bounds how many items a message lists by name.
const mostNamed = 5

// Holds returns what holds the run back at the given time. It is empty when only a missing host does. The claim that
// places a run and the API answer that explains its wait both call it.
func (g Gate) Holds(now svc.Time) []svc.Hold {
	holds := []svc.Hold{}
	switch {
	case svc.Held(g.NotBefore):
		holds = append(holds, svc.Hold{Code: svc.HoldNotBefore, Message: "it is held until somebody releases it"})
	case g.NotBefore != nil && *g.NotBefore > now:
		holds = append(holds, svc.Hold{Code: svc.HoldNotBefore, Message: "it shall not start before " + g.NotBefore.String()})
	}
	if g.BackOff != nil && *g.BackOff > now {
		holds = append(holds, svc.Hold{Code: svc.HoldBackOff, Message: "the back-off of its restart ends at " + g.BackOff.String()})
	}
	if len(g.Unmet) > 0 {
		holds = append(holds, g.blocked())
	}
	if g.Project.Full() {
		holds = append(holds, svc.Hold{Code: svc.HoldProjectFull, Message: "its project has as many active runs as its max_runs allows"})
	}
	if g.Busy {
		holds = append(holds, svc.Hold{Code: svc.HoldWorkspaceBusy, Message: "another run is in its workspace"})
	}
	if g.Follows {
		holds = append(holds, svc.Hold{Code: svc.HoldPredecessor, Message: "the run that it continues is not over"})
	}
	return holds
}

// blocked returns the hold that lists the unmet needs.
func (g Gate) blocked() svc.Hold {
	ids, refs := make([]string, len(g.Unmet)), make([]string, len(g.Unmet))
	for i, u := range g.Unmet {
		ids[i], refs[i] = u.ID, u.Ref
	}
	message := "its task needs " + strings.Join(refs[:min(len(refs), mostNamed)], ", ")
	if more := len(refs) - mostNamed; more > 0 {
		message += fmt.Sprintf(" and %d more", more)
	}
	return svc.Hold{Code: svc.HoldBlocked, Message: message + " to be done", Needs: ids}
}
