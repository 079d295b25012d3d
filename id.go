package svc

import (
	"github.com/google/uuid"
)

// NewID returns a new time-ordered id, so that ids made one after the other are close together in an index.
func NewID() string { return uuid.Must(uuid.NewV7()).String() }

// NewRunID returns a new random id. Run ids must not be time-ordered, because the session's name is made of their
// first characters.
func NewRunID() string { return uuid.NewString() }

// IsID reports whether s has the form of an id: a UUID in lower case. It is called for every subject of every event,
// so it must be fast.
func IsID(s string) bool {
	if len(s) != len("00000000-0000-0000-0000-000000000000") {
		return false
	}
	for i := range len(s) {
		switch c := s[i]; i {
		case 8, 13, 18, 23:
			if c != '-' {
				return false
			}
		default:
			if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
				return false
			}
		}
	}
	return true
}

// SessionName returns the name of a run's session. It is a convenience for people and for lookups, never an identity.
func SessionName(runID string) string { return "svc-" + runID[:8] }
