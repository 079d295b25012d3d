package engine

import "svc/hub"

// What the server and the engine tell each other about live parts of runs. The server has these names from here: it never asks the
// hub itself, so nothing goes around the engine.
type (
	LogQuery = hub.LogQuery // which part of a log is read
	LogTimes = hub.LogTimes // when the bytes of a log were written
	Person   = hub.Person   // who attaches to a terminal
	Piece    = hub.Piece    // a part of a checkpoint's file, as a worker relays it

	// CheckpointKind is what a file of a checkpoint is.
	CheckpointKind = hub.CheckpointKind
)

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
