-- What a host tells of a working copy's size, and where it was landed.
ALTER TABLE workspaces ADD COLUMN size_bytes BIGINT NOT NULL DEFAULT 0;
ALTER TABLE workspaces ADD COLUMN landed_commit TEXT NOT NULL DEFAULT '';
ALTER TABLE workspaces ADD COLUMN landed_into TEXT NOT NULL DEFAULT '';
ALTER TABLE workspaces ADD COLUMN landed_at BIGINT;
-- Who else is in a working copy.
CREATE INDEX runs_by_workspace ON runs (workspace_id) WHERE workspace_id IS NOT NULL;
-- Those that wait for their host to make them, without a run.
CREATE INDEX workspaces_preparing ON workspaces (created_at, id) WHERE state = 'preparing';
