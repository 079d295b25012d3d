package svc

import (
	"bytes"
	"encoding/json"
)

// Subjects are the ids in an event's payload by which events can be found. The id of a work item is its task_id.
// Empty: the payload has no such id.
type Subjects struct {
	ProjectID   string `json:"project_id"`
	TaskID      string `json:"task_id"`
	RunID       string `json:"run_id"`
	HostID      string `json:"host_id"`
	WorkspaceID string `json:"workspace_id"`
}

// Fields lists the ids with their names, ordered by how much each narrows a search in the journal, the most first.
func (s *Subjects) Fields() []SubjectField {
	return []SubjectField{{"run_id", &s.RunID}, {"workspace_id", &s.WorkspaceID}, {"task_id", &s.TaskID}, {"host_id", &s.HostID},
		{"project_id", &s.ProjectID}}
}

// SubjectField is one of the ids with its name in payloads, queries and SQL.
type SubjectField struct {
	Name string
	ID   *string
}

// SubjectsOf returns the ids in a draft's payload.
func SubjectsOf(payload map[string]any) (s Subjects) {
	for _, f := range s.Fields() {
		switch v := payload[f.Name].(type) {
		case string:
			*f.ID = v
		case *string:
			if v != nil {
				*f.ID = *v
			}
		}
		if !IsID(*f.ID) {
			*f.ID = "" // not a valid id, so the event must not be found by it
		}
	}
	return s
}

// EventFilter narrows the journal. All fields that are set must match.
type EventFilter struct {
	Topics Globs
	Subjects
}

// Everything reports whether the filter matches every event.
func (f EventFilter) Everything() bool { return len(f.Topics) == 0 && f.Subjects == (Subjects{}) }

// Validate returns a validation error that names every malformed id, or nil.
func (f EventFilter) Validate() error {
	var bad Problems
	for _, s := range f.Fields() {
		if *s.ID != "" && !IsID(*s.ID) {
			bad.Add(s.Name, "is not an id")
		}
	}
	return bad.Err()
}

// Match reports whether an event matches. It parses only payloads that contain the text of the id; most do not.
func (f EventFilter) Match(topic Topic, payload json.RawMessage) bool {
	if !f.Topics.Match(topic) {
		return false
	}
	if f.Subjects == (Subjects{}) {
		return true
	}
	for _, s := range f.Fields() {
		if *s.ID != "" && !bytes.Contains(payload, []byte(*s.ID)) {
			return false
		}
	}
	var has map[string]any
	if json.Unmarshal(payload, &has) != nil {
		return false
	}
	carried := SubjectsOf(has)
	for i, s := range carried.Fields() {
		if want := *f.Fields()[i].ID; want != "" && want != *s.ID {
			return false
		}
	}
	return true
}

// EventList is a page of the journal.
type EventList struct {
	Items        []Event `json:"items" nullable:"false"`
	NextCursor   *string `json:"next_cursor" doc:"Null on the last page"`
	PurgedBefore *Time   `json:"purged_before" doc:"Events older than this were removed; null: none were"`
}
