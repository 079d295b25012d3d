package notify

import (
	"time"

	"svc"
)

// In this time a sink is sent so many notifications one by one; what comes beyond goes into one digest, which itself is sent once in the
// same time.
const (
	window     = 30 * time.Second
	oneByOne   = 5
	digestSays = 5 // titles
)

// choose is what goes next of what is due: one notification, several as a digest, or nothing for now. sent is what the sink took within
// the window.
func choose(due, sent []svc.Notification) (next []svc.Notification, digest bool) {
	if len(due) == 0 {
		return nil, false
	}
	if due[0].Tries > 0 {
		return due[:1], false // again, as it was
	}
	var fresh []svc.Notification
	for _, n := range due {
		if n.Tries == 0 {
			fresh = append(fresh, n)
		}
	}
	singles, overflow := 0, false
	for _, n := range sent {
		if n.Digest() {
			overflow = true
		} else {
			singles++
		}
	}
	switch {
	case singles+len(fresh) <= oneByOne:
		return fresh[:1], false
	case overflow || singles > oneByOne:
		return nil, false
	default:
		return fresh, len(fresh) > 1
	}
}

// The waits between tries.
const (
	firstWait = 2 * time.Second
	mostWait  = 10 * time.Minute
)

// backoff is how long to wait after so many failures, spread by jitter in [0, 1) over the upper half.
func backoff(failures int, jitter float64) time.Duration {
	d := mostWait
	if failures < 10 {
		d = min(firstWait<<max(failures-1, 0), mostWait)
	}
	return d/2 + time.Duration(jitter*float64(d/2))
}
