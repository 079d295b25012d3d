// Package place decides which waiting run goes to which host. It is pure: its input is what runs demand and what
// hosts offer, its output is claims and reasons. The engine commits a claim after it has checked, in the same
// transaction, that the facts of the claim still hold. GET /runs/{id} shows the reasons. One function computes both,
// so the explanation always matches the decision.
package place

import (
	"slices"

	"svc"
)

// MostUnconfirmed is how many dispatches a host may have that it has not acknowledged. Runs beyond that number stay
// pending and may be placed on another host.
const MostUnconfirmed = 256

// Demand is what a run requires of a host. Runs with equal demands wait in one queue: a host that is eligible for one
// of them is eligible for all.
type Demand struct {
	Provider     string
	PinnedHostID string   // the only host that may take the run; empty: any
	Refused      []string // hosts that refused this attempt
	Workspace    bool     // the run gets a working copy, so the host must be able to make one
	Labels       map[string]string
}

// Host is the data about a host that placement uses.
type Host struct {
	svc.Host
	Connected   bool // its uplink is ready for dispatches
	Workspaces  bool // it can make working copies
	Unconfirmed int  // dispatches that the host has not acknowledged
}

// full reports whether the operator's limit of runs is reached.
func (h *Host) full() bool { return h.MaxRuns != nil && h.ActiveRuns >= *h.MaxRuns }

// free returns how many more runs the host may be given now.
func (h *Host) free() int {
	n := MostUnconfirmed - h.Unconfirmed
	if h.MaxRuns != nil {
		n = min(n, *h.MaxRuns-h.ActiveRuns)
	}
	return max(n, 0)
}

// Reason is why a run is not placed on a host.
type Reason string

// The reasons, in the order in which an operator would fix them; the first that applies is reported. A host that
// currently refuses all runs supplies its own code (svc.Host.Refusing).
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

// Fleet is all hosts at one moment.
type Fleet struct{ Hosts []Host }

// reasons returns, for each host, why a run with that demand is not placed on it.
func (f *Fleet) reasons(d Demand) []Reason {
	someHostHas := slices.ContainsFunc(f.Hosts, func(h Host) bool { return d.mayEverGoTo(&h) && h.Providers[d.Provider].Available })
	out := make([]Reason, len(f.Hosts))
	for i := range f.Hosts {
		out[i] = d.withheld(&f.Hosts[i], someHostHas)
	}
	return out
}

// mayEverGoTo reports whether the host would take the run once it is connected and has room. A host that refused the
// attempt is not tried again, so the run does not wait for it.
func (d Demand) mayEverGoTo(h *Host) bool {
	return h.Dispatchable() && (d.PinnedHostID == "" || d.PinnedHostID == h.ID) && h.HasLabels(d.Labels) && !slices.Contains(d.Refused, h.ID)
}

// withheld returns the reason for one host. If some host has the run's provider (someHostHas), the run waits for such
// a host, even a busy one. If no host has it, any host is eligible: there the run fails at once, with an error that
// names what is missing.
func (d Demand) withheld(h *Host, someHostHas bool) Reason {
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
	case someHostHas && !h.Providers[d.Provider].Available:
		return ProviderMissing
	default:
		return Eligible
	}
}

// Explain returns, for each host, why a run with that demand is not on it.
func (f *Fleet) Explain(d Demand) []svc.HostWithheld {
	out := make([]svc.HostWithheld, len(f.Hosts))
	for i, why := range f.reasons(d) {
		out[i] = svc.HostWithheld{HostID: f.Hosts[i].ID, Name: f.Hosts[i].Name, Why: string(why)}
	}
	return out
}
