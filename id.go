package svc

import (
	"github.com/google/uuid"
)

// NewID is a fresh time-ordered id: neighbours in time are neighbours in the
// index.
func NewID() string { return uuid.Must(uuid.NewV7()).String() }

// NewRunID is a fresh random id. Run ids must not be time-ordered: the session
// name is made of their leading characters.
func NewRunID() string { return uuid.NewString() }

// IsID says whether s has the form of an id: a UUID in lower case. It is asked
// of every subject of every event.
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

// SessionName is the name of a run's session: a convenience for people and
// for lookups, never an identity.
func SessionName(runID string) string { return "svc-" + runID[:8] }
