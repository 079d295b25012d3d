-- Comments of people on lines of a workspace's change.
CREATE TABLE comments (
    id           TEXT PRIMARY KEY,
    workspace_id TEXT NOT NULL REFERENCES workspaces (id),
    checkpoint   BIGINT NOT NULL,
    path         TEXT NOT NULL,
    side         TEXT NOT NULL,
    line         BIGINT,               -- NULL: the whole file
    end_line     BIGINT,               -- NULL: one line
    quote        TEXT NOT NULL,
    body         TEXT NOT NULL,
    author       TEXT NOT NULL,
    state        TEXT NOT NULL,
    run_id       TEXT,                 -- the run that it was sent to; NULL: none
    note         TEXT NOT NULL DEFAULT '',
    created_at   BIGINT NOT NULL,
    updated_at   BIGINT NOT NULL,
    version      BIGINT NOT NULL
);
CREATE INDEX comments_by_workspace ON comments (workspace_id, created_at, id);
