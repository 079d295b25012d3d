package engine

import (
	"context"
	"time"

	"svc"
	"svc/place"
	"svc/store"
	"svc/wire"
)

const (
	// hostsKeptFor is how long placement uses the hosts that it has read, unless one of them changes.
	hostsKeptFor = time.Second
	// A pass over a large fleet takes time, and with thousands of hosts there is always a reason for the next one. So if
	// it took more than shortPass, the next pass begins after passRest times as long, but at most mostRest: a slow
	// database is no large fleet. What is to be done meanwhile is done together.
	shortPass = 2 * time.Millisecond
	passRest  = 3
	mostRest  = 250 * time.Millisecond
)

// placedHosts are the hosts as placement passes use them. Only the claimer's goroutine uses it.
type placedHosts struct {
	hosts   []svc.Host
	changes int64     // the hostBook's count of changes before they were read
	readAt  time.Time // zero: they must be read

	took time.Duration // how long the last pass took to gather the hosts
	at   time.Time     // when that was done
}

// note copies when the hosts of a pass were given runs, which decides between equal hosts.
func (p *placedHosts) note(f *place.Fleet) {
	for i := range f.Hosts {
		p.hosts[i].LastDispatchAt = f.Hosts[i].LastDispatchAt
	}
}

// rest returns how long the claimer must wait before the next pass.
func (p *placedHosts) rest() time.Duration {
	return restAfter(p.took) - time.Since(p.at)
}

// restAfter returns how long to rest after a pass over the fleet.
func restAfter(took time.Duration) time.Duration {
	if took < shortPass {
		return 0
	}
	return min(passRest*took, mostRest)
}

// fleetOfPass returns every host as placement sees it now. Every change of a host's record passes through the hostBook,
// so the records are read again only after a change: to read 10,000 of them takes 75 ms. Connections and loads are
// always the current ones. A claim checks its host again.
func (e *Engine) fleetOfPass(ctx context.Context, p *placedHosts) (*place.Fleet, error) {
	began, changes := time.Now(), e.hosts.changeCount()
	if p.readAt.IsZero() || p.changes != changes || began.Sub(p.readAt) > hostsKeptFor {
		hosts, err := e.Store.Fleet(ctx)
		if err != nil {
			return nil, err
		}
		p.hosts, p.changes, p.readAt = hosts, changes, began
	}
	fleet, err := e.fleetOf(ctx, e.Store.Reader, p.hosts)
	p.at = time.Now()
	p.took = p.at.Sub(began)
	return fleet, err
}

// fleet returns every host as placement would see it, read from one state of the database.
func (e *Engine) fleet(ctx context.Context, r store.Reader) (*place.Fleet, error) {
	hosts, err := r.Fleet(ctx)
	if err != nil {
		return nil, err
	}
	return e.fleetOf(ctx, r, hosts)
}

// fleetOf adds to the hosts what changes without a change of their records.
func (e *Engine) fleetOf(ctx context.Context, r store.Reader, hosts []svc.Host) (*place.Fleet, error) {
	loads, err := r.HostLoads(ctx)
	if err != nil {
		return nil, err
	}
	ready, refusals := e.Hub.Uplinks.Ready(), e.hosts.refusals()
	fleet := &place.Fleet{Hosts: make([]place.Host, len(hosts))}
	for i, h := range hosts {
		load := loads[h.ID]
		h.ActiveRuns, h.Refusing = load.Active, refusals[h.ID]
		link, connected := ready[h.ID]
		fleet.Hosts[i] = place.Host{Host: h, Connected: connected, Workspaces: connected && link.Has(wire.CapWorkspace), Unconfirmed: load.Unconfirmed}
	}
	return fleet, nil
}

// makesWorkspaces reports whether a host can make working copies.
func (e *Engine) makesWorkspaces(hostID string) bool {
	link, ok := e.Hub.Uplinks.Of(hostID)
	return ok && link.Has(wire.CapWorkspace)
}
