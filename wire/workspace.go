package wire

import (
	"time"

	"svc"
)

// Workspace is the part of a dispatch that names the working copy of the run (capability workspace).
type Workspace struct {
	ID           string        `json:"id"`
	Repo         string        `json:"repo"`
	Base         string        `json:"base,omitempty"` // empty: the repository's default
	Isolation    svc.Isolation `json:"isolation"`
	Setup        string        `json:"setup,omitempty"` // empty: none
	SetupSeconds int64         `json:"setup_seconds"`
	Branch       string        `json:"branch"`
	// Restore is the checkpoint of another workspace that it begins with; absent: it begins at the base.
	Restore *Restore `json:"restore,omitempty"`
	// Needs is what the base of a new working copy must have; absent: nothing.
	Needs []svc.NeededCommit `json:"needs,omitempty"`
}

// Restore names a relayed checkpoint.
type Restore struct {
	WorkspaceID string `json:"workspace_id"`
	Checkpoint  int    `json:"checkpoint"`
	BaseCommit  string `json:"base_commit"` // that its bundle is on top of
}

// Source is what the working copy is made of, with the defaults filled in.
func (w Workspace) Source() svc.Source {
	return svc.Source{Repo: w.Repo, Base: w.Base, Isolation: w.Isolation, Setup: w.Setup, SetupTimeout: time.Duration(w.SetupSeconds) * time.Second}.OrDefaults()
}

// RestoreBase is the commit that the checkpoint it begins with is on top of; empty: it begins at the base.
func (w Workspace) RestoreBase() string {
	if w.Restore == nil {
		return ""
	}
	return w.Restore.BaseCommit
}

// What a WorkspaceRequest may ask for.
const (
	WorkspaceCheckpoint = "checkpoint"
	WorkspaceRemove     = "remove"
	WorkspaceRestore    = "restore" // make it, from a relayed checkpoint; its setup is left to its first run
	WorkspaceLand       = "land"    // capability land; what comes of it is posted
)

// WorkspaceRequest asks a worker to do something with a workspace now (capability workspace). It is answered with a
// WorkspaceResult.
type WorkspaceRequest struct {
	RequestID   string `json:"request_id"`
	WorkspaceID string `json:"workspace_id"`
	Do          string `json:"do"`
	Tree        string `json:"tree,omitempty"` // of a removal: a person has named this tree to be given up; absent: none
	// Workspace is what is to be made, of a restore; absent otherwise.
	Workspace *Workspace `json:"workspace,omitempty"`
	// Landed is the number of the checkpoint that was landed, of a removal; absent: none was.
	Landed int `json:"landed,omitempty"`
	// Land is what is to be landed (capability land); absent otherwise.
	Land *svc.LandOrder `json:"land,omitempty"`
}

// WorkspaceResult answers a WorkspaceRequest.
type WorkspaceResult struct {
	RequestID string             `json:"request_id"`
	OK        bool               `json:"ok"`
	Error     string             `json:"error,omitempty"`
	Unsafe    []svc.UnsafeReason `json:"unsafe,omitempty"` // why it was not removed
}

// Type names of the frames.
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
		if err := short("workspace_result", "unsafe", string(reason)); err != nil {
			return err
		}
	}
	if len(f.Error) > 4096 {
		return malformed("workspace_result: error is too long")
	}
	return need("workspace_result", "request_id", f.RequestID)
}

// MaxPiece is the most bytes of a checkpoint's file in one request: what else goes to the orchestrator waits for no more than that.
const MaxPiece = 1 << 20

// MaxCheckpointFile is the most bytes of a relayed bundle or patch.
const MaxCheckpointFile = 1 << 30

// CheckpointOffset answers a piece of a checkpoint's file: how much of it is kept.
type CheckpointOffset struct {
	Offset   int64 `json:"offset"`
	Complete bool  `json:"complete"`
}

// CheckpointDone tells that both files of a checkpoint were sent, and what is in it.
type CheckpointDone struct {
	Files     int    `json:"files"`
	Additions int    `json:"additions"`
	Deletions int    `json:"deletions"`
	Tree      string `json:"tree,omitempty"` // empty: an older worker, which does not say it
	From      string `json:"from,omitempty"` // the commit that the patch is against; empty: as for Tree
}

// Validate refuses what no host of ours would say.
func (d CheckpointDone) Validate() error {
	var bad svc.Problems
	bad.Object("tree", d.Tree)
	bad.Object("from", d.From)
	if min(d.Files, d.Additions, d.Deletions) < 0 {
		bad.Add("files", "must not be negative, nor additions or deletions")
	}
	return bad.Err()
}
