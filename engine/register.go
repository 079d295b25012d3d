package engine

import (
	"context"
	"slices"

	"svc"
	"svc/store"
	"svc/wire"
)

// Register handles a worker's registration: it returns the host's id and the shared capabilities, and stores platform
// and version. It does not count as a heartbeat. onlyHost restricts it to one host; empty: any.
func (e *Engine) Register(ctx context.Context, reg wire.Registration, onlyHost string) (wire.Registered, error) {
	if err := checkRegistration(reg); err != nil {
		return wire.Registered{}, err
	}
	h, err := e.Store.HostByName(ctx, reg.HostName)
	if svc.CodeOf(err) == svc.CodeNotFound || err == nil && onlyHost != "" && h.ID != onlyHost {
		return wire.Registered{}, svc.Errorf(svc.CodeHostNotFound,
			"there is no host named %q for this token; an operator makes one with: svc host create %s", reg.HostName, reg.HostName)
	}
	if err != nil {
		return wire.Registered{}, err
	}
	if h.Platform != reg.Platform || h.WorkerVersion != reg.Version {
		h, err = e.changeHost(ctx, h.ID, func(_ *store.Tx, h *svc.Host) (bool, error) {
			h.Platform, h.WorkerVersion = reg.Platform, reg.Version
			return true, nil
		})
		if err != nil {
			return wire.Registered{}, err
		}
	}
	shared := wire.Shared(reg.Capabilities)
	e.Hub.Uplinks.Announce(h.ID, reg.InstanceID, shared)
	registered := wire.Registered{HostID: h.ID, Status: h.Status, Capabilities: shared}
	if slices.Contains(shared, wire.CapWorkerKey) {
		registered.Challenge = e.challenge(h.ID, reg.InstanceID)
	}
	return registered, nil
}

func checkRegistration(reg wire.Registration) error {
	var bad svc.Problems
	if reg.HostName == "" {
		bad.Add("host_name", "is required")
	}
	if !svc.IsID(reg.InstanceID) {
		bad.Add("instance_id", "must be a UUID")
	}
	if len(reg.Platform) > 200 {
		bad.Add("platform", "has more than 200 bytes")
	}
	if len(reg.Version) > 200 {
		bad.Add("version", "has more than 200 bytes")
	}
	return bad.Err()
}
