package engine

import "svc/hub"

// These are names of package hub for the live parts of runs. The server uses them from here: it does not import hub,
// so every access goes through the engine.

// LogQuery selects the part of a log that is read.
type LogQuery = hub.LogQuery

// LogTimes reads when the bytes of a log were written.
type LogTimes = hub.LogTimes

// Person is the person who attaches to a terminal.
type Person = hub.Person

// Piece is a part of a checkpoint's file, as a worker relays it.
type Piece = hub.Piece

// CheckpointKind is the kind of a file of a checkpoint.
type CheckpointKind = hub.CheckpointKind

// CheckpointBundle is the kind of file that git reads.
const CheckpointBundle = hub.CheckpointBundle

// Why a viewer or an attached client is disconnected.
var (
	ErrRunEnded  = hub.ErrRunEnded
	ErrShutdown  = hub.ErrShutdown
	ErrSlow      = hub.ErrSlow
	ErrRelayLost = hub.ErrRelayLost
	ErrMalformed = hub.ErrMalformed
)

// ParseLogPlace reads a place in a run's log, such as 2:4096: an attempt and an offset.
func ParseLogPlace(text string) (hub.LogPlace, bool) { return hub.ParseLogPlace(text) }
