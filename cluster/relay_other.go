//go:build !linux

package cluster

import "errors"

// relayLoop exists on Linux alone.
type relayLoop struct{}

func newRelayLoop() (*relayLoop, error) { return nil, errors.ErrUnsupported }

func (*relayLoop) run() {}

func (*relayLoop) add(*uplink) bool { return false }

func (*relayLoop) end() {}
