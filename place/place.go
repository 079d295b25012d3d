// Package place decides which waiting run goes to which host. It is pure: what
// runs demand and what hosts offer goes in, claims and reasons come out. The
// engine commits a claim after it has checked, in the same transaction, that
// its facts still hold; GET /runs/{id} shows the reasons. Both come from one
// function, so that what is explained is what is done.
package place

import (
	"slices"

	"svc"
)

// MostUnconfirmed is how many dispatches a host may have that it has not
// acknowledged. What waits behind them stays pending, free to go elsewhere.
const MostUnconfirmed = 256

// Demand is what a run asks of a host. Runs with equal demands wait in one
// queue: a host that may take one of them may take each.
type Demand struct {
	Provider     string
	PinnedHostID string   // the only host it may go to; empty: any
	Refused      []string // hosts that refused this attempt
	Workspace    bool     // it gets a working copy, which the host must be able to make
	Labels       map[string]string
}

// Host is what placement must know of a host.
type Host struct {
	svc.Host
	Connected   bool // its uplink may be given runs
	Workspaces  bool // it can make working copies
	Unconfirmed int  // dispatches that it has not acknowledged
}

// full says that the operator's limit is reached.
func (h *Host) full() bool { return h.MaxRuns != nil && h.ActiveRuns >= *h.MaxRuns }

// free is how many runs the host may be given now.
func (h *Host) free() int {
	n := MostUnconfirmed - h.Unconfirmed
	if h.MaxRuns != nil {
		n = min(n, *h.MaxRuns-h.ActiveRuns)
	}
	return max(n, 0)
}

// Reason says why a run is not given to a host.
type Reason string

// The reasons, in the order in which an operator would fix them; the first
// that holds is told. A host that refuses all runs for now says why itself.
const (
	OtherHostPinned Reason = "other_host_pinned"
	LabelsMissing   Reason = "labels_missing"
	NoWorkspaces    Reason = "no_workspaces" // its worker is too old, or has no git
	NeverSeen       Reason = "never_seen"
	Offline         Reason = "offline"
	Disabled        Reason = "disabled"
	Suspect         Reason = "suspect"
	NotConnected    Reason = "not_connected"
	Refused         Reason = "refused"
	Full            Reason = "full"
	Unconfirmed     Reason = "unconfirmed"
	ProviderMissing Reason = "provider_missing"
	Eligible        Reason = "eligible"
)

// Fleet is the hosts at one moment.
type Fleet struct{ Hosts []Host }

// reasons says of every host why a run with that demand is not given to it.
func (f *Fleet) reasons(d Demand) []Reason {
	someoneHas := slices.ContainsFunc(f.Hosts, func(h Host) bool { return d.mayEverGoTo(&h) && h.Providers[d.Provider].Available })
	out := make([]Reason, len(f.Hosts))
	for i := range f.Hosts {
		out[i] = d.withheld(&f.Hosts[i], someoneHas)
	}
	return out
}

// mayEverGoTo says whether the host would take the run once it is connected
// and has room. One that refused the attempt is not asked again, so nobody
// waits for it.
func (d Demand) mayEverGoTo(h *Host) bool {
	return h.Dispatchable() && (d.PinnedHostID == "" || d.PinnedHostID == h.ID) && h.HasLabels(d.Labels) && !slices.Contains(d.Refused, h.ID)
}

// withheld is the reason of one host. A run waits for a host that has its
// provider, even a busy one, when someone has it; when nobody has, any host
// will do: there the run fails at once and says what is missing.
func (d Demand) withheld(h *Host, someoneHas bool) Reason {
	switch {
	case d.PinnedHostID != "" && d.PinnedHostID != h.ID:
		return OtherHostPinned
	case !h.HasLabels(d.Labels):
		return LabelsMissing
	case h.Status == svc.HostRegistered:
		return NeverSeen
	case h.Status == svc.HostOffline:
		return Offline
	case h.Status == svc.HostDisabled:
		return Disabled
	case h.InstanceSuspect:
		return Suspect
	case h.Refusing != nil:
		return Reason(h.Refusing.Code)
	case !h.Connected:
		return NotConnected
	case d.Workspace && !h.Workspaces:
		return NoWorkspaces
	case slices.Contains(d.Refused, h.ID):
		return Refused
	case h.full():
		return Full
	case h.free() == 0:
		return Unconfirmed
	case someoneHas && !h.Providers[d.Provider].Available:
		return ProviderMissing
	default:
		return Eligible
	}
}

// Explain says of every host why a run with that demand is not on it.
func (f *Fleet) Explain(d Demand) []svc.HostWithheld {
	out := make([]svc.HostWithheld, len(f.Hosts))
	for i, why := range f.reasons(d) {
		out[i] = svc.HostWithheld{HostID: f.Hosts[i].ID, Name: f.Hosts[i].Name, Why: string(why)}
	}
	return out
}
