package svc

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/google/uuid"
)

// Isolation says what a run's working copy is.
type Isolation string

// None is the folder that the run names. A clone has its own config, hooks, stash and refs. A worktree shares them with
// the other worktrees of its repository on the host, for tools that tie trust to one repository.
const (
	IsolationNone     Isolation = "none"
	IsolationClone    Isolation = "clone"
	IsolationWorktree Isolation = "worktree"
)

// WorkspaceState is where a working copy stands.
type WorkspaceState string

// The states of a workspace. Busy: a session lives in it. Missing: its folder is gone, and the last checkpoint stands.
const (
	WorkspacePreparing WorkspaceState = "preparing"
	WorkspaceReady     WorkspaceState = "ready"
	WorkspaceBusy      WorkspaceState = "busy"
	WorkspaceFailed    WorkspaceState = "failed"
	WorkspaceMissing   WorkspaceState = "missing"
	WorkspaceRemoved   WorkspaceState = "removed"
)

// workspaceMoves is every legal move of a workspace. A failed one is prepared again by the next attempt; a missing one
// comes back with its folder, as after a disk was mounted. Removed is the end.
var workspaceMoves = map[WorkspaceState][]WorkspaceState{
	"":                 {WorkspacePreparing},
	WorkspacePreparing: {WorkspaceReady, WorkspaceFailed},
	WorkspaceReady:     {WorkspaceBusy, WorkspaceMissing, WorkspaceRemoved},
	WorkspaceBusy:      {WorkspaceReady, WorkspaceMissing},
	WorkspaceFailed:    {WorkspacePreparing, WorkspaceRemoved},
	WorkspaceMissing:   {WorkspaceReady, WorkspaceRemoved},
}

// MayBecome tells whether a workspace may go from one state to another.
func (s WorkspaceState) MayBecome(next WorkspaceState) bool {
	return slices.Contains(workspaceMoves[s], next)
}

// The kinds of failure that begin a workspace's error.
const (
	BaseUnavailable = "base_unavailable" // what the working copy begins from could not be fetched
	BaseLacks       = "base_lacks"       // what it begins from has not got the landed work of an item that its own needs
	SetupFailed     = "setup_failed"     // the project's script failed or took too long
)

// NeededCommit is the landed work of an item that another one needs. A new working copy of that one begins from a base that has it.
type NeededCommit struct {
	Commit string `json:"commit"`
	Title  string `json:"title"` // of the item
}

// OnHostOnly begins the error of a workspace whose newest checkpoint is too large to be sent to the orchestrator.
const OnHostOnly = "on_host_only"

// Workspace is a run's working copy on its host, and what is kept of it.
type Workspace struct {
	ID        string         `json:"id" doc:"UUID, random"`
	ProjectID string         `json:"project_id"`
	TaskID    string         `json:"task_id"`
	HostID    string         `json:"host_id"`
	RunID     string         `json:"run_id" doc:"The newest run in it"`
	Isolation Isolation      `json:"isolation" enum:"clone,worktree"`
	Repo      string         `json:"repo" doc:"URL, or absolute path on the host"`
	Path      string         `json:"path" doc:"Its folder on the host; empty: not said so far"`
	Branch    string         `json:"branch" doc:"That it was made with"`
	State     WorkspaceState `json:"state" enum:"preparing,ready,busy,failed,missing,removed"`
	Error     string         `json:"error" doc:"Why it failed, or that its newest checkpoint is on_host_only; empty: nothing is wrong"`

	BaseRef       string `json:"base_ref" doc:"Branch that it began at; empty: not said so far"`
	BaseCommit    string `json:"base_commit"`
	BaseFetchedAt *Time  `json:"base_fetched_at"`

	Checkpoint        int      `json:"checkpoint" doc:"Number of the newest checkpoint; 0: there is none"`
	RelayedCheckpoint int      `json:"relayed_checkpoint" doc:"The newest that the orchestrator has; 0: none"`
	Tree              string   `json:"tree" doc:"Of the newest checkpoint"`
	Commit            string   `json:"commit" doc:"Of the newest checkpoint"`
	Files             int      `json:"files" doc:"Changed between the base and the newest relayed checkpoint"`
	Additions         int      `json:"additions" doc:"Lines"`
	Deletions         int      `json:"deletions" doc:"Lines"`
	Conflicts         []string `json:"conflicts" nullable:"false" doc:"Paths that a merge or rebase under way has left unresolved"`
	SizeBytes         int64    `json:"size_bytes" doc:"Of the files on its host, ignored ones and its own repository included; 0: not said so far"`
	// RestoredFrom is the workspace whose relayed checkpoint it began with.
	RestoredFrom string `json:"restored_from" doc:"Id of the workspace whose checkpoint it began with; empty: it began at the base"`

	LandedCommit string `json:"landed_commit" doc:"That its work was landed as; empty: it was not"`
	LandedInto   string `json:"landed_into" doc:"The branch; empty: it was not landed"`
	LandedAt     *Time  `json:"landed_at" doc:"Null: it was not landed"`
	// LandedCheckpoint is what of it was landed: a newer checkpoint is not.
	LandedCheckpoint int      `json:"landed_checkpoint" doc:"Number of the checkpoint that was landed; 0: none"`
	Landing          *Landing `json:"landing" doc:"The newest landing; null: there was none"`

	DiscardedAt *Time `json:"discarded_at" doc:"When it was marked as not wanted; null: it is wanted"`
	ObservedAt  *Time `json:"observed_at" doc:"When its host last told of it"`
	CreatedAt   Time  `json:"created_at"`
	UpdatedAt   Time  `json:"updated_at"`
	Version     int64 `json:"-"`

	Source Source `json:"-"` // as it was when the workspace was made
}

// EventPayload is the part of an event that every workspace.* topic carries.
func (w *Workspace) EventPayload() map[string]any {
	return map[string]any{"workspace_id": w.ID, "project_id": w.ProjectID, "task_id": w.TaskID, "host_id": w.HostID, "run_id": w.RunID, "state": w.State}
}

// ShortCommit is how much of a commit's name people read.
func ShortCommit(id string) string { return id[:min(len(id), 10)] }

// Usable says whether a run may go on in the workspace.
func (w *Workspace) Usable() bool { return w.State != WorkspaceMissing && w.State != WorkspaceRemoved }

// WorkspaceFilter narrows a list of workspaces. Filters combine.
type WorkspaceFilter struct {
	ProjectID, TaskID, HostID string
	States                    []WorkspaceState
}

// WorkspaceReport is what a host tells of a workspace: all of it, each time.
type WorkspaceReport struct {
	State         WorkspaceState `json:"state"`
	Error         string         `json:"error,omitempty"`
	Path          string         `json:"path"`
	BaseRef       string         `json:"base_ref,omitempty"`
	BaseCommit    string         `json:"base_commit,omitempty"`
	BaseFetchedAt *Time          `json:"base_fetched_at,omitempty"`
	Checkpoint    int            `json:"checkpoint"`
	Tree          string         `json:"tree,omitempty"`
	Commit        string         `json:"commit,omitempty"`
	Conflicts     []string       `json:"conflicts,omitempty"`
	SizeBytes     int64          `json:"size_bytes,omitempty"` // 0: not measured
	RunID         string         `json:"run_id,omitempty"`     // that caused it; empty: none
	Attempt       int            `json:"attempt,omitempty"`    // of that run
}

// The most bytes of texts in a report, and the most conflicts.
const (
	maxReportText = 4096
	maxConflicts  = 1000
)

// Validate refuses what no host of ours would say.
func (r WorkspaceReport) Validate() error {
	var bad Problems
	oneOf(&bad, "state", r.State, WorkspacePreparing, WorkspaceReady, WorkspaceBusy, WorkspaceFailed, WorkspaceMissing)
	for name, text := range map[string]string{"error": r.Error, "path": r.Path, "base_ref": r.BaseRef} {
		bad.text(name, text, maxReportText)
	}
	for name, id := range map[string]string{"base_commit": r.BaseCommit, "tree": r.Tree, "commit": r.Commit} {
		bad.Object(name, id)
	}
	if r.Checkpoint < 0 {
		bad.Add("checkpoint", "must not be negative")
	}
	if r.SizeBytes < 0 {
		bad.Add("size_bytes", "must not be negative")
	}
	if len(r.Conflicts) > maxConflicts {
		bad.Add("conflicts", "has more than %d elements", maxConflicts)
	}
	for _, path := range r.Conflicts {
		bad.text("conflicts", path, maxReportText)
	}
	return bad.Err()
}

// maxObject is the longest name of an object that git gives, in bytes.
const maxObject = 64

// Object checks what a host says to be the name of a commit or tree: other hosts give it to git, which must not read it as anything else. Empty: none.
func (p *Problems) Object(field, s string) {
	part := func(r rune) bool { return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) }
	if len(s) > maxObject || strings.ContainsFunc(s, part) {
		p.Add(field, "is not the name of an object of git")
	}
}

// Apply takes over what the host tells. Removed is the orchestrator's own word, and the end. What is known of base and
// checkpoint stays until the host tells more: while a restored workspace is prepared, its host has neither, and what it begins
// with stands.
func (w *Workspace) Apply(r WorkspaceReport, now Time) {
	if w.State == WorkspaceRemoved {
		return
	}
	w.State, w.Error, w.Path = r.State, r.Error, r.Path
	if r.BaseCommit != "" {
		w.BaseRef, w.BaseCommit, w.BaseFetchedAt = r.BaseRef, r.BaseCommit, r.BaseFetchedAt
	}
	if r.Checkpoint >= w.Checkpoint {
		w.Checkpoint, w.Tree, w.Commit, w.Conflicts = r.Checkpoint, r.Tree, r.Commit, r.Conflicts
	}
	if r.SizeBytes > 0 {
		w.SizeBytes = r.SizeBytes
	}
	w.ObservedAt = &now
}

// Source is what a project's working copies are made of.
type Source struct {
	Repo         string        `json:"repo"` // URL, or absolute path on the host; empty: there is none
	Base         string        `json:"base"` // branch; empty: the remote's default
	Isolation    Isolation     `json:"isolation"`
	Setup        string        `json:"setup"` // shell script; empty: none
	SetupTimeout time.Duration `json:"setup_timeout_ns"`
	KeepDays     int           `json:"keep_days"` // after landed or discarded
}

// The defaults of a source.
const (
	DefaultSetupTimeout = 10 * time.Minute
	DefaultKeepDays     = 14
)

const (
	maxRepo         = 2048
	maxBranch       = 200
	maxSetup        = 16 << 10
	maxSetupTimeout = 24 * time.Hour
	maxKeepDays     = 3650
)

// OrDefaults fills in what is not said.
func (s Source) OrDefaults() Source {
	if s.Isolation == "" {
		s.Isolation = IsolationNone
		if s.Repo != "" {
			s.Isolation = IsolationClone
		}
	}
	if s.SetupTimeout == 0 {
		s.SetupTimeout = DefaultSetupTimeout
	}
	if s.KeepDays == 0 {
		s.KeepDays = DefaultKeepDays
	}
	return s
}

// IsPath tells whether the repository is a folder of the host.
func (s Source) IsPath() bool { return strings.HasPrefix(s.Repo, "/") }

// Validate names every field that is wrong.
func (s Source) Validate() error {
	var bad Problems
	if s.Repo != "" {
		bad.repo("repo", s.Repo)
	}
	if s.Base != "" {
		bad.branch("base", s.Base)
	}
	oneOf(&bad, "isolation", s.Isolation, IsolationNone, IsolationClone, IsolationWorktree)
	if s.Repo == "" && (s.Isolation == IsolationClone || s.Isolation == IsolationWorktree) {
		bad.Add("isolation", "is %q, which needs a repo", string(s.Isolation))
	}
	bad.text("setup", s.Setup, maxSetup)
	if s.SetupTimeout < time.Second || s.SetupTimeout > maxSetupTimeout {
		bad.Add("setup_timeout", "must be 1s to 24h")
	}
	if s.KeepDays < 1 || s.KeepDays > maxKeepDays {
		bad.Add("keep_days", "must be 1 to %d", maxKeepDays)
	}
	return bad.Err()
}

// schemes are the transports of git that are no programs of their own.
var schemes = []string{"https", "http", "ssh", "git", "file"}

// repo checks a repository's address: a URL, "host:path" as ssh takes it, or an absolute path. Everything else
// could be read by git as an option or as the name of a program.
func (p *Problems) repo(field, s string) {
	p.line(field, s, 1, maxRepo)
	if strings.HasPrefix(s, "/") {
		return
	}
	if scheme, rest, ok := strings.Cut(s, "://"); ok {
		host, path, _ := strings.Cut(rest, "/")
		host = host[strings.LastIndex(host, "@")+1:]
		switch {
		case !slices.Contains(schemes, scheme):
			p.Add(field, "has the scheme %q; it must be one of %s", scheme, strings.Join(schemes, ", "))
		case path == "" || strings.HasPrefix(host, "-") || host == "" && scheme != "file":
			p.Add(field, "is not a URL with a host and a path")
		}
		return
	}
	host, path, ok := strings.Cut(s, ":")
	if _, name, hasUser := strings.Cut(host, "@"); hasUser && strings.HasPrefix(name, "-") {
		ok = false
	}
	if !ok || host == "" || path == "" || strings.HasPrefix(s, "-") || strings.HasPrefix(path, ":") || strings.ContainsAny(host, "/ ") {
		p.Add(field, "must be a URL, host:path or an absolute path")
	}
}

// branch checks the name of a branch by git's rules, and that it cannot be read as an option.
func (p *Problems) branch(field, s string) {
	p.line(field, s, 1, maxBranch)
	bad := strings.HasPrefix(s, "-") || strings.HasSuffix(s, ".") || s == "@" || strings.Contains(s, "..") ||
		strings.Contains(s, "@{") || strings.ContainsAny(s, " ~^:?*[\\") || strings.ContainsFunc(s, unicode.IsControl)
	for part := range strings.SplitSeq(s, "/") {
		bad = bad || part == "" || strings.HasPrefix(part, ".") || strings.HasSuffix(part, ".lock")
	}
	if bad {
		p.Add(field, "is not the name of a branch")
	}
}

// NewWorkspaceID is a fresh random id. It is not time-ordered: the branch is named by its leading characters.
func NewWorkspaceID() string { return uuid.NewString() }

const maxBranchTitle = 40

// WorkspaceBranch is the branch of a workspace: readable, and unique on every host and remote.
func WorkspaceBranch(title, workspaceID string) string {
	slug := strings.TrimRight(cut(slugOr(title, "work"), maxBranchTitle), "-")
	return fmt.Sprintf("svc/%s-%s", slug, workspaceID[:8])
}

// checkpointShare is how much of the time checkpoints may take: one part of so many.
const checkpointShare = 20

// CheckpointInterval is how long to wait for the next checkpoint of a workspace where the last one took so long.
func CheckpointInterval(every, took time.Duration) time.Duration {
	return max(every, took*(checkpointShare-1))
}

// UnsafeReason is why a workspace cannot be removed.
type UnsafeReason string

// The reasons. Unknown: the folder could not be inspected, so that anything may be in it.
const (
	UnsafeRun     UnsafeReason = "run"         // a run is active in it
	UnsafeProcess UnsafeReason = "process"     // a process has its working directory inside
	UnsafeUnknown UnsafeReason = "unknown"     // its content or its processes could not be inspected
	UnsafeRelay   UnsafeReason = "not_relayed" // the orchestrator does not have its last checkpoint
)

// Removal is what is known of a workspace that shall be removed.
type Removal struct {
	Run       bool   // a run is active in it
	Process   bool   // a process has its working directory inside
	Inspected bool   // a checkpoint was just made that has everything in the folder
	Tree      string // of that checkpoint
	Relayed   bool   // the orchestrator has acknowledged that checkpoint
	Landed    bool   // or it was landed
	GiveUp    string // the tree that a person has named to be given up; empty: none
}

// Unsafe lists what speaks against the removal; empty: nothing that was written is lost by it. Naming the very tree
// overrides the relay alone.
func (r Removal) Unsafe() []UnsafeReason {
	var reasons []UnsafeReason
	if r.Run {
		reasons = append(reasons, UnsafeRun)
	}
	if r.Process {
		reasons = append(reasons, UnsafeProcess)
	}
	if !r.Inspected {
		return append(reasons, UnsafeUnknown)
	}
	if !r.Relayed && !r.Landed && (r.GiveUp == "" || r.GiveUp != r.Tree) {
		reasons = append(reasons, UnsafeRelay)
	}
	return reasons
}
