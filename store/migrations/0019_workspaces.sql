-- From what the working copies of a project's runs are made.
ALTER TABLE projects ADD COLUMN repo TEXT NOT NULL DEFAULT '';
ALTER TABLE projects ADD COLUMN base TEXT NOT NULL DEFAULT '';
ALTER TABLE projects ADD COLUMN isolation TEXT NOT NULL DEFAULT 'none';
ALTER TABLE projects ADD COLUMN setup TEXT NOT NULL DEFAULT '';
ALTER TABLE projects ADD COLUMN setup_timeout TEXT NOT NULL DEFAULT '10m';
ALTER TABLE projects ADD COLUMN keep_days BIGINT NOT NULL DEFAULT 14;

-- The working copies of runs on their hosts. The checkpoints themselves are files next to the relayed logs.
CREATE TABLE workspaces (
    id                 TEXT PRIMARY KEY,
    project_id         TEXT NOT NULL REFERENCES projects (id),
    task_id            TEXT NOT NULL,
    host_id            TEXT NOT NULL,
    run_id             TEXT NOT NULL,               -- the newest run in it
    source             TEXT NOT NULL,               -- JSON: from what it is made
    path               TEXT NOT NULL DEFAULT '',
    branch             TEXT NOT NULL,
    state              TEXT NOT NULL,
    error              TEXT NOT NULL DEFAULT '',
    base_ref           TEXT NOT NULL DEFAULT '',
    base_commit        TEXT NOT NULL DEFAULT '',
    base_fetched_at    BIGINT,
    checkpoint         BIGINT NOT NULL DEFAULT 0,
    relayed_checkpoint BIGINT NOT NULL DEFAULT 0,
    tree               TEXT NOT NULL DEFAULT '',
    commit_id          TEXT NOT NULL DEFAULT '',
    files              BIGINT NOT NULL DEFAULT 0,
    additions          BIGINT NOT NULL DEFAULT 0,
    deletions          BIGINT NOT NULL DEFAULT 0,
    conflicts          TEXT NOT NULL DEFAULT '[]',  -- JSON list
    restored_from      TEXT NOT NULL DEFAULT '',
    discarded_at       BIGINT,
    observed_at        BIGINT,
    created_at         BIGINT NOT NULL,
    updated_at         BIGINT NOT NULL,
    version            BIGINT NOT NULL
);
CREATE INDEX workspaces_newest ON workspaces (created_at, id);
CREATE INDEX workspaces_by_project ON workspaces (project_id, created_at, id);
CREATE INDEX workspaces_by_task ON workspaces (task_id, created_at, id);
CREATE INDEX workspaces_by_host ON workspaces (host_id, created_at, id);
CREATE INDEX workspaces_discarded ON workspaces (discarded_at) WHERE discarded_at IS NOT NULL AND state <> 'removed';
ALTER TABLE runs ADD COLUMN workspace_id TEXT;      -- NULL: it has none
