package svc

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/google/uuid"
)

// Isolation is the kind of a run's working copy.
type Isolation string

// None: the run works in its cwd itself. Clone: a copy with its own config, hooks, stash and refs. Worktree: a copy
// that shares them with the other worktrees of its repository on the host, for tools that bind trust to one
// repository.
const (
	IsolationNone     Isolation = "none"
	IsolationClone    Isolation = "clone"
	IsolationWorktree Isolation = "worktree"
)

// WorkspaceState is the state of a working copy.
type WorkspaceState string

// The states of a workspace. Busy: a session runs in it. Missing: its folder is gone, but its last checkpoint is
// kept.
const (
	WorkspacePreparing WorkspaceState = "preparing"
	WorkspaceReady     WorkspaceState = "ready"
	WorkspaceBusy      WorkspaceState = "busy"
	WorkspaceFailed    WorkspaceState = "failed"
	WorkspaceMissing   WorkspaceState = "missing"
	WorkspaceRemoved   WorkspaceState = "removed"
)

// workspaceMoves lists every legal state change of a workspace. A failed workspace is prepared again by the next
// attempt. A missing one becomes ready again when its folder is back, for example after a disk was mounted. Removed
// is final.
var workspaceMoves = map[WorkspaceState][]WorkspaceState{
	"":                 {WorkspacePreparing},
	WorkspacePreparing: {WorkspaceReady, WorkspaceFailed},
	WorkspaceReady:     {WorkspaceBusy, WorkspaceMissing, WorkspaceRemoved},
	WorkspaceBusy:      {WorkspaceReady, WorkspaceMissing},
	WorkspaceFailed:    {WorkspacePreparing, WorkspaceRemoved},
	WorkspaceMissing:   {WorkspaceReady, WorkspaceRemoved},
}

// MayBecome reports whether a workspace may change from state s to next.
func (s WorkspaceState) MayBecome(next WorkspaceState) bool {
	return slices.Contains(workspaceMoves[s], next)
}

// The kinds of failure with which a workspace's error begins.
const (
	BaseUnavailable = "base_unavailable" // the base of the working copy could not be fetched
	BaseLacks       = "base_lacks"       // the base does not contain the landed work of an item that the run's item needs
	SetupFailed     = "setup_failed"     // the project's script failed or took too long
)

// NeededCommit is the landed work of an item that another item needs. A new working copy for the other item must
// begin from a base that contains this commit.
type NeededCommit struct {
	Commit string `json:"commit"`
	Title  string `json:"title"` // of the item
}

// OnHostOnly is the beginning of the error of a workspace whose newest checkpoint is too large to be relayed.
const OnHostOnly = "on_host_only"

// Workspace is the working copy of a run on its host, with what is stored about it.
type Workspace struct {
	ID        string         `json:"id" doc:"UUID, random"`
	ProjectID string         `json:"project_id"`
	TaskID    string         `json:"task_id"`
	HostID    string         `json:"host_id"`
	RunID     string         `json:"run_id" doc:"The newest run in it"`
	Isolation Isolation      `json:"isolation" enum:"clone,worktree"`
	Repo      string         `json:"repo" doc:"URL, or absolute path on the host"`
	Path      string         `json:"path" doc:"Its folder on the host; empty: not reported yet"`
	Branch    string         `json:"branch" doc:"The branch with which it was created"`
	State     WorkspaceState `json:"state" enum:"preparing,ready,busy,failed,missing,removed"`
	Error     string         `json:"error" doc:"Why it failed, or that its newest checkpoint is on_host_only; empty: nothing is wrong"`

	BaseRef       string `json:"base_ref" doc:"Branch on which it is based; empty: not reported yet"`
	BaseCommit    string `json:"base_commit"`
	BaseFetchedAt *Time  `json:"base_fetched_at"`

	Checkpoint        int      `json:"checkpoint" doc:"Number of the newest checkpoint; 0: there is none"`
	RelayedCheckpoint int      `json:"relayed_checkpoint" doc:"Number of the newest checkpoint that the orchestrator has; 0: none"`
	Tree              string   `json:"tree" doc:"Of its newest checkpoint"`
	Commit            string   `json:"commit" doc:"Of its newest checkpoint"`
	Files             int      `json:"files" doc:"Number of files that differ between the base and the newest relayed checkpoint"`
	Additions         int      `json:"additions" doc:"Lines"`
	Deletions         int      `json:"deletions" doc:"Lines"`
	Conflicts         []string `json:"conflicts" nullable:"false" doc:"Paths that a merge or rebase under way has left unresolved"`
	SizeBytes         int64    `json:"size_bytes" doc:"Size of its files on the host, including ignored files and its own repository; 0: not reported yet"`
	// RestoredFrom is the workspace whose relayed checkpoint this workspace began with.
	RestoredFrom string `json:"restored_from" doc:"Id of the workspace whose checkpoint it began with; empty: it began at the base"`

	LandedCommit string `json:"landed_commit" doc:"The commit with which its work was landed; empty: not landed"`
	LandedInto   string `json:"landed_into" doc:"The branch into which it was landed; empty: not landed"`
	LandedAt     *Time  `json:"landed_at" doc:"Null: it was not landed"`
	// LandedCheckpoint is the checkpoint that was landed. Newer checkpoints are not landed.
	LandedCheckpoint int      `json:"landed_checkpoint" doc:"Number of the checkpoint that was landed; 0: none"`
	Landing          *Landing `json:"landing" doc:"The newest landing; null: there was none"`

	DiscardedAt *Time `json:"discarded_at" doc:"When it was marked as not wanted; null: it is wanted"`
	ObservedAt  *Time `json:"observed_at" doc:"When its host last reported it"`
	CreatedAt   Time  `json:"created_at"`
	UpdatedAt   Time  `json:"updated_at"`
	Version     int64 `json:"-"`

	Source Source `json:"-"` // as it was when the workspace was created
}

// EventPayload returns the fields that every workspace.* event carries.
func (w *Workspace) EventPayload() map[string]any {
	return map[string]any{"workspace_id": w.ID, "project_id": w.ProjectID, "task_id": w.TaskID, "host_id": w.HostID, "run_id": w.RunID, "state": w.State}
}

// ShortCommit returns the part of a commit's id that is shown to people.
func ShortCommit(id string) string { return id[:min(len(id), 10)] }

// Usable reports whether a run may continue in the workspace.
func (w *Workspace) Usable() bool { return w.State != WorkspaceMissing && w.State != WorkspaceRemoved }

// WorkspaceFilter narrows a list of workspaces. All fields that are set must match.
type WorkspaceFilter struct {
	ProjectID, TaskID, HostID string
	States                    []WorkspaceState
}

// WorkspaceReport is a host's report about a workspace. Every report is complete.
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
	RunID         string         `json:"run_id,omitempty"`     // the run that caused the report; empty: none
	Attempt       int            `json:"attempt,omitempty"`    // the attempt of that run
}

// The maximum size of each text of a report in bytes, and of the list of conflicts.
const (
	maxReportText = 4096
	maxConflicts  = 1000
)

// Validate returns a validation error for a report that no correct host would send.
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

// maxObject is the maximum length of a git object name in bytes.
const maxObject = 64

// Object checks that s, which a host reported, has the form of the name of a git commit or tree. Other hosts pass it
// to git, which must not read it as anything else. Empty is allowed: none.
func (p *Problems) Object(field, s string) {
	part := func(r rune) bool { return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) }
	if len(s) > maxObject || strings.ContainsFunc(s, part) {
		p.Add(field, "is not the name of an object of git")
	}
}

// Apply stores a host's report. A removed workspace does not change: only the orchestrator sets that state, and it is
// final. Base and checkpoint are kept when the report has none: a host that is preparing a restored workspace does
// not have them yet.
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

// Source is what a project's working copies are made from.
type Source struct {
	Repo         string        `json:"repo"` // URL, or absolute path on the host; empty: there is none
	Base         string        `json:"base"` // branch; empty: the remote's default
	Isolation    Isolation     `json:"isolation"`
	Setup        string        `json:"setup"` // shell script; empty: none
	SetupTimeout time.Duration `json:"setup_timeout_ns"`
	KeepDays     int           `json:"keep_days"` // days after it was landed or discarded
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

// OrDefaults returns s with defaults for the fields that are not set.
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

// IsPath reports whether the repository is a folder on the host.
func (s Source) IsPath() bool { return strings.HasPrefix(s.Repo, "/") }

// Validate returns a validation error that names every wrong field, or nil.
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

// schemes are git's standard URL schemes. For any other scheme git runs a program that is named after it.
var schemes = []string{"https", "http", "ssh", "git", "file"}

// repo checks a repository's address: a URL, "host:path" in the form of ssh, or an absolute path. Git could read any
// other form as an option or as the name of a program.
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

// branch checks a branch name by git's rules, and that git cannot read it as an option.
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

// NewWorkspaceID returns a new random id. It is not time-ordered, because its first characters are part of the branch
// name.
func NewWorkspaceID() string { return uuid.NewString() }

const maxBranchTitle = 40

// WorkspaceBranch returns the name of a workspace's branch: readable, and unique on every host and remote.
func WorkspaceBranch(title, workspaceID string) string {
	slug := strings.TrimRight(cut(slugOr(title, "work"), maxBranchTitle), "-")
	return fmt.Sprintf("svc/%s-%s", slug, workspaceID[:8])
}

// checkpointShare limits the time that checkpoints may take to one part in checkpointShare.
const checkpointShare = 20

// CheckpointInterval returns how long to wait before the next checkpoint of a workspace, given how long the last one
// took.
func CheckpointInterval(every, took time.Duration) time.Duration {
	return max(every, took*(checkpointShare-1))
}

// UnsafeReason is why a workspace cannot be removed.
type UnsafeReason string

// The reasons. Unknown: the folder could not be inspected, so it may contain unsaved work.
const (
	UnsafeRun     UnsafeReason = "run"         // a run is active in it
	UnsafeProcess UnsafeReason = "process"     // a process has its working directory inside
	UnsafeUnknown UnsafeReason = "unknown"     // its content or its processes could not be inspected
	UnsafeRelay   UnsafeReason = "not_relayed" // the orchestrator does not have its last checkpoint
)

// Removal holds the facts that decide whether a workspace can be removed.
type Removal struct {
	Run       bool   // a run is active in it
	Process   bool   // a process has its working directory inside
	Inspected bool   // a checkpoint was just made that contains everything in the folder
	Tree      string // of that checkpoint
	Relayed   bool   // the orchestrator has acknowledged that checkpoint
	Landed    bool   // it was landed
	GiveUp    string // the tree that a person has explicitly given up; empty: none
}

// Unsafe lists the reasons against the removal; empty: the removal loses no written data. A GiveUp that is equal to
// the tree overrides not_relayed only.
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
