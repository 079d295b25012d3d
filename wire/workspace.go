package wire

import (
	"time"

	"svc"
)

// Workspace is the part of a dispatch that describes the working copy of the run (capability workspace).
type Workspace struct {
	ID           string        `json:"id"`
	Repo         string        `json:"repo"`
	Base         string        `json:"base,omitempty"` // empty: the repository's default
	Isolation    svc.Isolation `json:"isolation"`
	Setup        string        `json:"setup,omitempty"` // empty: none
	SetupSeconds int64         `json:"setup_seconds"`
	Branch       string        `json:"branch"`
	// Restore is the checkpoint of another workspace to begin with; absent: begin at the base.
	Restore *Restore `json:"restore,omitempty"`
	// Needs are the commits that the base of a new working copy must contain; absent: none.
	Needs []svc.NeededCommit `json:"needs,omitempty"`
}

// Restore identifies a relayed checkpoint.
type Restore struct {
	WorkspaceID string `json:"workspace_id"`
	Checkpoint  int    `json:"checkpoint"`
	BaseCommit  string `json:"base_commit"` // the commit on which its bundle is based
}

// Source returns the source of the working copy, with defaults for empty fields.
func (w Workspace) Source() svc.Source {
	return svc.Source{Repo: w.Repo, Base: w.Base, Isolation: w.Isolation, Setup: w.Setup, SetupTimeout: time.Duration(w.SetupSeconds) * time.Second}.OrDefaults()
}

// RestoreBase returns the base commit of the checkpoint to begin with; empty: begin at the base.
func (w Workspace) RestoreBase() string {
	if w.Restore == nil {
		return ""
	}
	return w.Restore.BaseCommit
}

// The actions of a WorkspaceRequest.
const (
	WorkspaceCheckpoint = "checkpoint"
	WorkspaceRemove     = "remove"
	WorkspaceRestore    = "restore" // create it from a relayed checkpoint; its first run does the setup
	WorkspaceLand       = "land"    // capability land; the outcome is posted
)

// WorkspaceRequest requests an action on a workspace from a worker (capability workspace). The worker responds with a
// WorkspaceResult.
type WorkspaceRequest struct {
	RequestID   string `json:"request_id"`
	WorkspaceID string `json:"workspace_id"`
	Do          string `json:"do"`
	Tree        string `json:"tree,omitempty"` // for a removal: the tree that a person has explicitly given up; absent: none
	// Workspace is the workspace to create, for a restore; absent otherwise.
	Workspace *Workspace `json:"workspace,omitempty"`
	// Landed is the number of the checkpoint that was landed, for a removal; absent: none was.
	Landed int `json:"landed,omitempty"`
	// Land is the order to land (capability land); absent otherwise.
	Land *svc.LandOrder `json:"land,omitempty"`
}

// WorkspaceResult is the response to a WorkspaceRequest.
type WorkspaceResult struct {
	RequestID string             `json:"request_id"`
	OK        bool               `json:"ok"`
	Error     string             `json:"error,omitempty"`
	Unsafe    []svc.UnsafeReason `json:"unsafe,omitempty"` // why it was not removed
}

// Type and the method below return the type names of the frames.
func (WorkspaceRequest) Type() string { return "workspace_request" }
func (WorkspaceResult) Type() string  { return "workspace_result" }

func (f WorkspaceRequest) check() error {
	if !svc.IsID(f.WorkspaceID) {
		return malformed("workspace_request: workspace_id is not a UUID")
	}
	if f.Do == WorkspaceRestore && (f.Workspace == nil || f.Workspace.ID != f.WorkspaceID || f.Workspace.Restore == nil) {
		return malformed("workspace_request: workspace does not say what to restore")
	}
	if f.Do == WorkspaceLand {
		if f.Land == nil {
			return malformed("workspace_request: land does not say what to land")
		}
		if err := f.Land.Validate(); err != nil {
			return malformed("workspace_request: land: %.200v", err)
		}
	}
	return need("workspace_request", "request_id", f.RequestID)
}

func (f WorkspaceResult) check() error {
	if len(f.Unsafe) > 16 {
		return malformed("workspace_result: unsafe has more than 16 elements")
	}
	for _, reason := range f.Unsafe {
		if err := checkName("workspace_result", "unsafe", string(reason)); err != nil {
			return err
		}
	}
	if len(f.Error) > 4096 {
		return malformed("workspace_result: error is too long")
	}
	return need("workspace_result", "request_id", f.RequestID)
}

// MaxPiece is the maximum size of a part of a checkpoint's file in one request, in bytes. So other requests to the
// orchestrator are delayed by one part at most.
const MaxPiece = 1 << 20

// MaxCheckpointFile is the maximum size of a relayed bundle or patch in bytes.
const MaxCheckpointFile = 1 << 30

// CheckpointOffset is the response to a part of a checkpoint's file: how much of the file is stored.
type CheckpointOffset struct {
	Offset   int64 `json:"offset"`
	Complete bool  `json:"complete"`
}

// CheckpointDone reports that both files of a checkpoint were sent, and describes its content.
type CheckpointDone struct {
	Files     int    `json:"files"`
	Additions int    `json:"additions"`
	Deletions int    `json:"deletions"`
	Tree      string `json:"tree,omitempty"` // empty: an older worker, which does not report it
	From      string `json:"from,omitempty"` // the base commit of the patch; empty: as for Tree
}

// Validate returns a validation error for a report that no correct worker would send.
func (d CheckpointDone) Validate() error {
	var bad svc.Problems
	bad.Object("tree", d.Tree)
	bad.Object("from", d.From)
	if min(d.Files, d.Additions, d.Deletions) < 0 {
		bad.Add("files", "must not be negative, nor additions or deletions")
	}
	return bad.Err()
}
