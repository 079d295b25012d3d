package svc

// Kind is the kind of a work item. Any kind may be below any other; only tasks and subtasks can be run.
type Kind string

// The kinds, from the widest to the narrowest.
const (
	KindMilestone Kind = "milestone"
	KindEpic      Kind = "epic"
	KindTask      Kind = "task"
	KindSubtask   Kind = "subtask"
)

// Runnable reports whether a run may target an item of this kind.
func (k Kind) Runnable() bool { return k == KindTask || k == KindSubtask }

// ItemStatus is a work item's column on the board. Any status may follow any.
type ItemStatus string

// The four columns.
const (
	ItemTodo      ItemStatus = "todo"
	ItemDoing     ItemStatus = "doing"
	ItemDone      ItemStatus = "done"
	ItemCancelled ItemStatus = "cancelled"
)

// StatusSource is who last changed the status of a work item.
type StatusSource string

// A manual change has priority: a signal never overrides a later manual change.
const (
	SourceByHand   StatusSource = "manual"
	SourceBySignal StatusSource = "signal"
)

// Confidence is how sure a person was when marking an item as done.
type Confidence string

// The three levels; certain when none is given.
const (
	Certain Confidence = "certain"
	Likely  Confidence = "likely"
	Unsure  Confidence = "unsure"
)

// WorkItem is a milestone, epic, task or subtask of a project.
type WorkItem struct {
	ID           string       `json:"id" doc:"UUID"`
	ProjectID    string       `json:"project_id"`
	ProjectSlug  string       `json:"project_slug"`
	Number       int64        `json:"number" doc:"Number of the item in its project, in order of creation; never reused. The slug in capitals and the number, such as CHECKOUT-12, form a short name"`
	ParentID     *string      `json:"parent_id" doc:"Null at the project's root"`
	Kind         Kind         `json:"kind" enum:"milestone,epic,task,subtask"`
	Title        string       `json:"title"`
	Description  string       `json:"description" doc:"Markdown"`
	Status       ItemStatus   `json:"status" enum:"todo,doing,done,cancelled"`
	StatusSource StatusSource `json:"status_source" enum:"manual,signal" doc:"Who set the status last"`
	Confidence   *Confidence  `json:"confidence" enum:"certain,likely,unsure" doc:"Null unless a person marked it as done"`
	Path         string       `json:"path" doc:"The ids from the root down to this item, joined with /"`
	Position     string       `json:"position" doc:"Rank among the project's items, compared as text"`
	AutoMarkDone bool         `json:"auto_mark_done" doc:"Whether a completed signal moves the item to done"`
	Needs        []string     `json:"needs" nullable:"false" doc:"The items that must be done first, by position"`
	Blocked      bool         `json:"blocked" doc:"It or an ancestor needs an item that is not done"`
	CreatedAt    Time         `json:"created_at"`
	UpdatedAt    Time         `json:"updated_at"`
	NewestRun    *RunBrief    `json:"newest_run" doc:"Null: it never ran"`
	Version      int64        `json:"-"`

	// ManualMarks counts the manual status changes. A run stores the count at its creation, so that a later manual
	// change is detected without comparing times.
	ManualMarks int64 `json:"-"`
}

// Ref returns the item's short name.
func (w *WorkItem) Ref() string { return ItemRef(w.ProjectSlug, w.Number) }

// RunBrief is the part of its newest run that a work item shows.
type RunBrief struct {
	ID         string    `json:"id" doc:"UUID"`
	Status     RunStatus `json:"status" enum:"pending,spawning,running,exited,failed,stopped"`
	NeedsInput bool      `json:"needs_input" doc:"A hook reported that the agent waits for a person"`
}

// NewWorkItem holds the fields of a request to create a work item.
type NewWorkItem struct {
	ProjectID    string
	ParentID     *string // nil: at the root
	Kind         Kind
	Title        string
	Description  string
	Status       ItemStatus // empty: todo
	AutoMarkDone *bool      // nil: the configured default
}

// ParentChange moves an item below another one, or to the root when ID is nil.
type ParentChange struct{ ID *string }

// WorkItemPatch changes every field that is not nil.
type WorkItemPatch struct {
	Title        *string
	Description  *string
	Kind         *Kind
	Status       *ItemStatus
	Confidence   *Confidence
	AutoMarkDone *bool
	Parent       *ParentChange
	Before       *string // place directly before this item
	After        *string // place directly after this item; when Before is set too, this item must come before that one
}

const maxTitle = 500

// Validate returns a validation error that names every wrong field, or nil.
func (n NewWorkItem) Validate() error {
	var bad Problems
	if !IsID(n.ProjectID) {
		bad.Add("project_id", "must be the id of a project")
	}
	if n.ParentID != nil && !IsID(*n.ParentID) {
		bad.Add("parent_id", "must be the id of a work item, or null")
	}
	status := n.Status
	if status == "" {
		status = ItemTodo
	}
	checkItem(&bad, &n.Title, &n.Description, &n.Kind, &status)
	return bad.Err()
}

// Validate returns a validation error that names every wrong field, or nil.
func (p WorkItemPatch) Validate() error {
	var bad Problems
	checkItem(&bad, p.Title, p.Description, p.Kind, p.Status)
	if p.Confidence != nil {
		oneOf(&bad, "confidence", *p.Confidence, Certain, Likely, Unsure)
		if p.Status == nil || *p.Status != ItemDone {
			bad.Add("confidence", `is allowed only with status "done"`)
		}
	}
	if p.Parent != nil && p.Parent.ID != nil && !IsID(*p.Parent.ID) {
		bad.Add("parent_id", "must be the id of a work item, or null")
	}
	if p.Before != nil && !IsID(*p.Before) {
		bad.Add("before", "must be the id of a work item")
	}
	if p.After != nil && !IsID(*p.After) {
		bad.Add("after", "must be the id of a work item")
	}
	return bad.Err()
}

func checkItem(bad *Problems, title, description *string, kind *Kind, status *ItemStatus) {
	if title != nil {
		bad.line("title", *title, 1, maxTitle)
	}
	if description != nil {
		bad.text("description", *description, maxDescription)
	}
	if kind != nil {
		oneOf(bad, "kind", *kind, KindMilestone, KindEpic, KindTask, KindSubtask)
	}
	if status != nil {
		oneOf(bad, "status", *status, ItemTodo, ItemDoing, ItemDone, ItemCancelled)
	}
}

// MarkByHand sets the status as a person requested it. The confidence is stored for done only.
func (w *WorkItem) MarkByHand(to ItemStatus, c *Confidence) {
	w.Status, w.StatusSource, w.Confidence = to, SourceByHand, nil
	if to == ItemDone {
		level := Certain
		if c != nil {
			level = *c
		}
		w.Confidence = &level
	}
	w.ManualMarks++
}
