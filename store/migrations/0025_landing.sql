-- By what an item of a project is marked as done.
ALTER TABLE projects ADD COLUMN done_when TEXT NOT NULL DEFAULT 'completed';

-- The newest landing of a working copy.
ALTER TABLE workspaces ADD COLUMN landing TEXT NOT NULL DEFAULT '';          -- JSON; empty: there was none
ALTER TABLE workspaces ADD COLUMN landing_due BIGINT;                        -- when it was requested; NULL: no outcome is awaited
ALTER TABLE workspaces ADD COLUMN landed_checkpoint BIGINT NOT NULL DEFAULT 0;
CREATE INDEX workspaces_landing ON workspaces (landing_due) WHERE landing_due IS NOT NULL;
CREATE INDEX workspaces_landed ON workspaces (landed_at) WHERE landed_at IS NOT NULL AND state <> 'removed';
