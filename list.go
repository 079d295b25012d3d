package svc

import "slices"

// Page asks for a part of a list. A cursor names a place, not an offset, so a
// list stays stable while rows come and go.
type Page struct {
	Limit  int    // 1 to MaxLimit
	Cursor string // opaque; empty: from the beginning
	// Bytes ends a page early, with one record at least, when its records' texts have more than this; 0: never.
	Bytes int
}

// The size of a page when the caller does not say, and the largest one.
const (
	DefaultLimit = 50
	MaxLimit     = 500
)

// MaxPageBytes is the most bytes of a page that is asked for from outside, but for its last record: whatever
// records hold, a page costs a bounded sum.
const MaxPageBytes = 4 << 20

// List is one page of records.
type List[T any] struct {
	Items      []T     `json:"items" nullable:"false"`
	NextCursor *string `json:"next_cursor" doc:"Null on the last page"`
}

// Snapshot is the state that a follower of the events needs: every project that is not archived with
// its items, every active run and the newest others, every host. The stream sends it first when it
// cannot resume at a cursor.
type Snapshot struct {
	Projects  []Project    `json:"projects" nullable:"false"`
	WorkItems []WorkItem   `json:"work_items" nullable:"false"`
	Runs      []RunSummary `json:"runs" nullable:"false"`
	Hosts     []Host       `json:"hosts" nullable:"false"`
}

// WorkItemFilter narrows a list of work items. Filters combine.
type WorkItemFilter struct {
	ProjectID string
	Parent    *ParentChange // not nil: children of that item, or the roots
	Under     string        // everything below this item, without it
	Statuses  []ItemStatus
	Kinds     []Kind
}

// RunFilter narrows a list of runs. Filters combine.
type RunFilter struct {
	ProjectID string
	TaskID    string
	HostID    string
	Statuses  []RunStatus

	NeedsInput *bool
	Provider   string
	CreatedBy  string
}

// Match says whether a run passes.
func (f RunFilter) Match(r Run) bool {
	return (f.ProjectID == "" || f.ProjectID == r.ProjectID) && (f.TaskID == "" || f.TaskID == r.TaskID) &&
		(f.HostID == "" || r.HostID != nil && f.HostID == *r.HostID) && (len(f.Statuses) == 0 || slices.Contains(f.Statuses, r.Status)) &&
		(f.NeedsInput == nil || *f.NeedsInput == r.NeedsInput) && (f.Provider == "" || f.Provider == r.Provider) &&
		(f.CreatedBy == "" || r.CreatedBy != nil && f.CreatedBy == *r.CreatedBy)
}
