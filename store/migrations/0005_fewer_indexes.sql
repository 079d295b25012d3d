-- An index for each combination of filters made every write slower for lists that
-- are never requested. Now there is one index for each order that a page of the
-- app or a command reads. The columns of the filters follow the key, so that rare
-- matches are found in the index, without reading each row.
--
-- work_items: of a parent, of a project, the roots of a project, of all, and
-- below an item of the first three levels (deeper ones are found by parent).
DROP INDEX work_items_by_parent;
DROP INDEX work_items_by_parent_status;
DROP INDEX work_items_by_parent_kind;
DROP INDEX work_items_by_project_parent;
DROP INDEX work_items_by_project_status;
DROP INDEX work_items_by_project_kind;
DROP INDEX work_items_by_project_status_kind;
DROP INDEX work_items_below_1;
DROP INDEX work_items_below_1_status;
DROP INDEX work_items_below_1_kind;
DROP INDEX work_items_below_2;
DROP INDEX work_items_below_2_status;
DROP INDEX work_items_below_2_kind;
DROP INDEX work_items_below_3;
DROP INDEX work_items_below_3_status;
DROP INDEX work_items_below_3_kind;
DROP INDEX work_items_by_position;
DROP INDEX work_items_by_status;
DROP INDEX work_items_by_kind;
DROP INDEX work_items_by_status_kind;
-- The position comes first: otherwise SQLite would prefer this shorter key for
-- the lists of a project, and read each row.
DROP INDEX work_items_rank;
CREATE UNIQUE INDEX work_items_rank ON work_items (position, project_id);
-- These two are not partial: subtrees and ranks are read with their deleted rows.
CREATE INDEX work_items_by_parent ON work_items (parent_id, position, id, status, kind);
CREATE INDEX work_items_by_project ON work_items (project_id, position, id, status, kind);
CREATE INDEX work_items_roots ON work_items (project_id, position, id) WHERE deleted_at IS NULL AND parent_id IS NULL;
CREATE INDEX work_items_by_position ON work_items (position, id, status, kind) WHERE deleted_at IS NULL;
CREATE INDEX work_items_below_1 ON work_items (substr(path, 1, 36), position, id, status, kind) WHERE deleted_at IS NULL AND length(path) > 36;
CREATE INDEX work_items_below_2 ON work_items (substr(path, 38, 36), position, id, status, kind) WHERE deleted_at IS NULL AND length(path) > 73;
CREATE INDEX work_items_below_3 ON work_items (substr(path, 75, 36), position, id, status, kind) WHERE deleted_at IS NULL AND length(path) > 110;

-- runs: of all, of a project, of a task, of a host; the active ones, which are
-- always few; and the indexes for claims and inventories (runs_pending and
-- runs_open stay).
DROP INDEX runs_by_age;
DROP INDEX runs_by_status;
DROP INDEX runs_by_project;
DROP INDEX runs_by_project_status;
DROP INDEX runs_by_project_host;
DROP INDEX runs_by_task_status;
DROP INDEX runs_by_task_host;
DROP INDEX runs_by_host;
DROP INDEX runs_by_host_status;
CREATE INDEX runs_by_age ON runs (created_at, id, status);
CREATE INDEX runs_by_project ON runs (project_id, created_at, id, status);
CREATE INDEX runs_by_host ON runs (host_id, created_at, id, status, project_id) WHERE host_id IS NOT NULL;
CREATE INDEX runs_active ON runs (created_at, id) WHERE status IN ('pending', 'spawning', 'running');
