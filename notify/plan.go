package notify

import (
	"time"

	"svc"
)

// Within the time window, at most oneByOne notifications are sent to a sink one by one. The others are sent as one
// digest, at most one within the window.
const (
	window       = 30 * time.Second
	oneByOne     = 5
	digestTitles = 5 // titles in a digest
)

// choose returns which of the due notifications are sent next: one, several as a digest, or none for now. sent is
// what the sink has accepted within the window.
func choose(due, sent []svc.Notification) (next []svc.Notification, digest bool) {
	if len(due) == 0 {
		return nil, false
	}
	if due[0].Tries > 0 {
		return due[:1], false // a retry sends the same notification
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

// backoff returns the wait after this many failures. It doubles up to mostWait, and jitter in [0, 1) spreads it over
// its upper half.
func backoff(failures int, jitter float64) time.Duration {
	d := mostWait
	if failures < 10 {
		d = min(firstWait<<max(failures-1, 0), mostWait)
	}
	return d/2 + time.Duration(jitter*float64(d/2))
}
