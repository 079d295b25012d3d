-- Messages of people to the agents of live sessions.
CREATE TABLE messages (
    id           TEXT PRIMARY KEY,
    run_id       TEXT NOT NULL REFERENCES runs (id),
    number       BIGINT NOT NULL,      -- the order within the run
    attempt      BIGINT NOT NULL,
    text         TEXT NOT NULL,
    digest       TEXT NOT NULL,        -- of the text, as hooks report prompts
    deliver_when TEXT NOT NULL,
    answer       BOOLEAN NOT NULL,
    state        TEXT NOT NULL,
    reason       TEXT NOT NULL,
    asked        BOOLEAN NOT NULL,     -- the host was requested to paste it, or will be at once
    nudged       BOOLEAN NOT NULL,     -- the host was requested to press Enter once more, or will be at once
    sent_by      TEXT NOT NULL,
    created_at   BIGINT NOT NULL,
    updated_at   BIGINT NOT NULL,
    version      BIGINT NOT NULL
);
CREATE UNIQUE INDEX messages_by_run ON messages (run_id, number);
CREATE INDEX messages_open ON messages (run_id, number) WHERE state IN ('queued', 'pasted');
CREATE INDEX messages_unconfirmed ON messages (run_id, attempt, number) WHERE state = 'unconfirmed';

-- The agent waits for a prompt: a hook reported the end of its turn, and no prompt was submitted since.
ALTER TABLE runs ADD COLUMN turn_over BOOLEAN NOT NULL DEFAULT FALSE;

-- When the newest landing failed; NULL: it did not, or the failure was resolved since.
ALTER TABLE workspaces ADD COLUMN land_failed_at BIGINT;
CREATE INDEX workspaces_land_failed ON workspaces (land_failed_at) WHERE land_failed_at IS NOT NULL;
