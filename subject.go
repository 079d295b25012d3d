package svc

import (
	"bytes"
	"encoding/json"
)

// Subjects are the ids by which events are found: those that a payload carries.
// A work item's own id is its task_id there. Empty: none.
type Subjects struct {
	ProjectID   string `json:"project_id"`
	TaskID      string `json:"task_id"`
	RunID       string `json:"run_id"`
	HostID      string `json:"host_id"`
	WorkspaceID string `json:"workspace_id"`
}

// Fields lists the ids with their names, the one that most narrows the journal
// first.
func (s *Subjects) Fields() []SubjectField {
	return []SubjectField{{"run_id", &s.RunID}, {"workspace_id", &s.WorkspaceID}, {"task_id", &s.TaskID}, {"host_id", &s.HostID},
		{"project_id", &s.ProjectID}}
}

// SubjectField is one of the ids: its name in payloads, queries and SQL.
type SubjectField struct {
	Name string
	ID   *string
}

// SubjectsOf reads the ids that a draft's payload carries.
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
			*f.ID = "" // it was not checked, so the event must not be found by it
		}
	}
	return s
}

// EventFilter narrows the journal. Filters combine.
type EventFilter struct {
	Topics Globs
	Subjects
}

// Everything says whether the filter leaves nothing out.
func (f EventFilter) Everything() bool { return len(f.Topics) == 0 && f.Subjects == (Subjects{}) }

// Validate names every id that has not the form of one.
func (f EventFilter) Validate() error {
	var bad Problems
	for _, s := range f.Fields() {
		if *s.ID != "" && !IsID(*s.ID) {
			bad.Add(s.Name, "is not an id")
		}
	}
	return bad.Err()
}

// Match says whether an event passes. Most payloads do not have the text of the
// id at all, so few are parsed.
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
