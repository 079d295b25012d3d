-- A run may wait without a timeout, in an order that people choose. Items may need other items.
ALTER TABLE runs ADD COLUMN wait BOOLEAN NOT NULL DEFAULT FALSE;         -- no dispatch timeout
ALTER TABLE runs ADD COLUMN priority BIGINT NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN not_before BIGINT;                           -- the run is not placed before this time; NULL: at once
ALTER TABLE runs ADD COLUMN host_labels TEXT NOT NULL DEFAULT '{}';      -- JSON object, keys sorted
ALTER TABLE runs ADD COLUMN ignore_needs BOOLEAN NOT NULL DEFAULT FALSE;
-- Derived from the needs of the run's item: see needs.go. It is kept for every active run, so that a restarted
-- attempt waits too.
ALTER TABLE runs ADD COLUMN blocked BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE runs ADD COLUMN unblocked_at BIGINT;

ALTER TABLE projects ADD COLUMN max_runs BIGINT;                -- NULL: no limit
ALTER TABLE projects ADD COLUMN turn BIGINT NOT NULL DEFAULT 0; -- projects take turns: the project with the lowest number was served the longest time ago

CREATE TABLE needs (
    item_id  TEXT NOT NULL REFERENCES work_items (id),
    other_id TEXT NOT NULL REFERENCES work_items (id),
    PRIMARY KEY (item_id, other_id)
);
CREATE INDEX needs_by_other ON needs (other_id, item_id);
ALTER TABLE work_items ADD COLUMN blocked BOOLEAN NOT NULL DEFAULT FALSE; -- it or an ancestor has an unmet need

-- Pending runs that no need holds back, in queues of equal demands of one project (see queue.go).
DROP INDEX runs_queue;
CREATE INDEX runs_queue ON runs ((project_id || ' ' || coalesce(pinned_host_id, '') || ' ' || CASE WHEN length(refused) + length(host_labels) > 500 THEN id ELSE refused || ' ' || host_labels END || ' ' || provider),
    priority DESC, pending_since, id, next_dispatch_at, not_before) WHERE status || '' = 'pending' AND NOT blocked;
CREATE INDEX runs_timing_out ON runs (project_id, pending_since, id) WHERE status || '' = 'pending' AND NOT blocked AND NOT wait;
CREATE INDEX runs_not_before ON runs (not_before) WHERE status || '' = 'pending' AND not_before IS NOT NULL;
-- The active runs of a project: they are few even if many wait.
CREATE INDEX runs_open_in_project ON runs ((project_id || '')) WHERE session_ended_at IS NULL AND host_id IS NOT NULL;
