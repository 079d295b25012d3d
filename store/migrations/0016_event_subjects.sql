-- The ids in an event's payload, as columns: the events of a run are found by an index, however old the run is.
-- NULL: the payload has no such id. New columns are empty, so this migration is fast. The columns of existing
-- rows are filled while the orchestrator serves, newest first (see subjects.go).
ALTER TABLE events ADD COLUMN project_id TEXT;
ALTER TABLE events ADD COLUMN task_id TEXT;
ALTER TABLE events ADD COLUMN run_id TEXT;
ALTER TABLE events ADD COLUMN host_id TEXT;
ALTER TABLE events ADD COLUMN workspace_id TEXT;
CREATE INDEX events_by_project ON events (project_id, seq) WHERE project_id IS NOT NULL;
CREATE INDEX events_by_task ON events (task_id, seq) WHERE task_id IS NOT NULL;
CREATE INDEX events_by_run ON events (run_id, seq) WHERE run_id IS NOT NULL;
CREATE INDEX events_by_host ON events (host_id, seq) WHERE host_id IS NOT NULL;
CREATE INDEX events_by_workspace ON events (workspace_id, seq) WHERE workspace_id IS NOT NULL;
-- The seq from which on the columns of events are filled.
ALTER TABLE journal ADD COLUMN subjects_from BIGINT NOT NULL DEFAULT 0;
UPDATE journal SET subjects_from = head + 1;
