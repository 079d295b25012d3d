-- When the question was asked that a run waits with; it means something only while needs_input holds.
ALTER TABLE runs ADD COLUMN asked_at BIGINT;
UPDATE runs SET asked_at = updated_at WHERE needs_input;
CREATE INDEX runs_asking ON runs (asked_at, id) WHERE needs_input;
-- Failed runs, those that ended last first. The expression keeps SQLite from the index of all statuses.
CREATE INDEX runs_failed ON runs (ended_at, task_id, created_at, id) WHERE status || '' = 'failed';
-- Working copies with a change that nobody has dealt with.
CREATE INDEX workspaces_to_review ON workspaces ((run_id || '')) WHERE state <> 'removed' AND discarded_at IS NULL AND landed_at IS NULL AND (files > 0 OR checkpoint > relayed_checkpoint);

ALTER TABLE hosts ADD COLUMN suspect_since BIGINT;  -- NULL: it is not suspect
ALTER TABLE hosts ADD COLUMN disk_low_since BIGINT; -- by its heartbeats; NULL: it has enough free space
UPDATE hosts SET suspect_since = updated_at WHERE instance_suspect;

-- What people have put aside in the inbox. The entries themselves are computed.
CREATE TABLE inbox_marks (
    key        TEXT PRIMARY KEY,
    until      BIGINT,          -- NULL: dismissed, for good
    marked_by  TEXT NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE INDEX inbox_marks_snoozed ON inbox_marks (until) WHERE until IS NOT NULL;

-- Where notifications go, by the name in the config file.
CREATE TABLE notify_sinks (
    name         TEXT PRIMARY KEY,
    since        BIGINT NOT NULL,            -- entries from before are not sent
    owner        TEXT NOT NULL DEFAULT '',   -- the orchestrator that sends to it
    leased_until BIGINT NOT NULL DEFAULT 0,
    failures     BIGINT NOT NULL DEFAULT 0,  -- in a row
    retry_at     BIGINT NOT NULL DEFAULT 0,
    sent_at      BIGINT,                     -- last
    failed_at    BIGINT,                     -- last
    error        TEXT NOT NULL DEFAULT ''    -- of the last failure
);
-- The outbox: what is to be sent is here before it is sent.
CREATE TABLE notifications (
    id         TEXT PRIMARY KEY,             -- the receiver knows it by this
    sink       TEXT NOT NULL,
    key        TEXT NOT NULL,                -- of the entry; of a digest, its own id
    digest_id  TEXT NOT NULL DEFAULT '',     -- the digest that tells of it; empty: it goes by itself
    state      TEXT NOT NULL,
    tries      BIGINT NOT NULL DEFAULT 0,
    due_at     BIGINT NOT NULL,
    settled_at BIGINT,                       -- when it was sent or given up
    error      TEXT NOT NULL DEFAULT '',
    created_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX notifications_by_key ON notifications (sink, key);
CREATE INDEX notifications_waiting ON notifications (sink, due_at) WHERE state = 'waiting';
CREATE INDEX notifications_settled ON notifications (sink, settled_at) WHERE settled_at IS NOT NULL;
CREATE INDEX notifications_of_digest ON notifications (digest_id) WHERE digest_id <> '';
CREATE INDEX notifications_by_age ON notifications (created_at);
