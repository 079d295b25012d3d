package svc

import (
	"regexp"

	"github.com/google/uuid"
)

// NewID is a fresh time-ordered id: neighbours in time are neighbours in the
// index.
func NewID() string { return uuid.Must(uuid.NewV7()).String() }

// NewRunID is a fresh random id. Run ids must not be time-ordered: the session
// name is made of their leading characters.
func NewRunID() string { return uuid.NewString() }

var uuidForm = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)

// IsID says whether s has the form of an id: a UUID in lower case.
func IsID(s string) bool { return uuidForm.MatchString(s) }

// SessionName is the name of a run's session: a convenience for people and
// for lookups, never an identity.
func SessionName(runID string) string { return "svc-" + runID[:8] }
