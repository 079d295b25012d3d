-- The size of a working copy as its host reports it, and where it was landed.
ALTER TABLE workspaces ADD COLUMN size_bytes BIGINT NOT NULL DEFAULT 0;
ALTER TABLE workspaces ADD COLUMN landed_commit TEXT NOT NULL DEFAULT '';
ALTER TABLE workspaces ADD COLUMN landed_into TEXT NOT NULL DEFAULT '';
ALTER TABLE workspaces ADD COLUMN landed_at BIGINT;
-- The runs in a working copy.
CREATE INDEX runs_by_workspace ON runs (workspace_id) WHERE workspace_id IS NOT NULL;
-- Working copies without a run that their host is to restore from a checkpoint.
CREATE INDEX workspaces_preparing ON workspaces (created_at, id) WHERE state = 'preparing';
