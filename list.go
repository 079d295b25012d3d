package svc

// Page asks for a part of a list. A cursor names a place, not an offset, so a
// list stays stable while rows come and go.
type Page struct {
	Limit  int    // 1 to MaxLimit
	Cursor string // opaque; empty: from the beginning
}

// The size of a page when the caller does not say, and the largest one.
const (
	DefaultLimit = 50
	MaxLimit     = 500
)

// List is one page of records.
type List[T any] struct {
	Items      []T     `json:"items" nullable:"false"`
	NextCursor *string `json:"next_cursor" doc:"Null on the last page"`
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
}
