package svc

import "slices"

// Page requests a part of a list. A cursor names a position between records, not an offset, so a listing stays
// consistent while rows are added and removed.
type Page struct {
	Limit  int    // 1 to MaxLimit
	Cursor string // opaque; empty: from the beginning
	// Bytes ends a page early when the texts of its records exceed this size. A page always has at least one record.
	// 0: no limit.
	Bytes int
}

// The default and the maximum size of a page.
const (
	DefaultLimit = 50
	MaxLimit     = 500
)

// MaxPageBytes limits a page that an API client requests, in bytes, without its last record. So the cost of a page is
// bounded, whatever its records contain.
const MaxPageBytes = 4 << 20

// List is one page of records.
type List[T any] struct {
	Items      []T     `json:"items" nullable:"false"`
	NextCursor *string `json:"next_cursor" doc:"Null on the last page"`
}

// Snapshot is the state that a client needs before it can follow the events: every project that is not archived with
// its items, every active run and the newest others, and every host. The stream sends it first when it cannot resume
// at a cursor.
type Snapshot struct {
	Projects  []Project    `json:"projects" nullable:"false"`
	WorkItems []WorkItem   `json:"work_items" nullable:"false"`
	Runs      []RunSummary `json:"runs" nullable:"false"`
	Hosts     []Host       `json:"hosts" nullable:"false"`
}

// WorkItemFilter narrows a list of work items. All fields that are set must match.
type WorkItemFilter struct {
	ProjectID string
	Parent    *ParentChange // not nil: children of that item, or the roots
	Under     string        // descendants of this item, without the item itself
	Statuses  []ItemStatus
	Kinds     []Kind
}

// RunFilter narrows a list of runs. All fields that are set must match.
type RunFilter struct {
	ProjectID string
	TaskID    string
	HostID    string
	Statuses  []RunStatus

	NeedsInput *bool
	Provider   string
	CreatedBy  string
}

// Match reports whether a run matches the filter.
func (f RunFilter) Match(r Run) bool {
	return (f.ProjectID == "" || f.ProjectID == r.ProjectID) && (f.TaskID == "" || f.TaskID == r.TaskID) &&
		(f.HostID == "" || r.HostID != nil && f.HostID == *r.HostID) && (len(f.Statuses) == 0 || slices.Contains(f.Statuses, r.Status)) &&
		(f.NeedsInput == nil || *f.NeedsInput == r.NeedsInput) && (f.Provider == "" || f.Provider == r.Provider) &&
		(f.CreatedBy == "" || r.CreatedBy != nil && f.CreatedBy == *r.CreatedBy)
}
