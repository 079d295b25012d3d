//go:build !linux

package cluster

import "errors"

// relayLoop is only implemented on Linux.
type relayLoop struct{}

func newRelayLoop(idleRule) (*relayLoop, error) { return nil, errors.ErrUnsupported }

func (*relayLoop) run() {}

func (*relayLoop) add(*uplink) bool { return false }

func (*relayLoop) end() {}
