-- When the question was asked that a run waits for. It is valid only while needs_input is true.
ALTER TABLE runs ADD COLUMN asked_at BIGINT;
UPDATE runs SET asked_at = updated_at WHERE needs_input;
CREATE INDEX runs_asking ON runs (asked_at, id) WHERE needs_input;
-- Failed runs by their end. The expression prevents SQLite from using the index of all statuses.
CREATE INDEX runs_failed ON runs (ended_at, task_id, created_at, id) WHERE status || '' = 'failed';
-- Working copies with a change that was neither landed nor discarded.
CREATE INDEX workspaces_to_review ON workspaces ((run_id || '')) WHERE state <> 'removed' AND discarded_at IS NULL AND landed_at IS NULL AND (files > 0 OR checkpoint > relayed_checkpoint);

ALTER TABLE hosts ADD COLUMN suspect_since BIGINT;  -- NULL: the host is not suspect
ALTER TABLE hosts ADD COLUMN disk_low_since BIGINT; -- according to its heartbeats; NULL: it has enough free space
UPDATE hosts SET suspect_since = updated_at WHERE instance_suspect;

-- Entries of the inbox that people have snoozed or dismissed. The entries themselves are computed.
CREATE TABLE inbox_marks (
    key        TEXT PRIMARY KEY,
    until      BIGINT,          -- the end of a snooze; NULL: dismissed
    marked_by  TEXT NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE INDEX inbox_marks_snoozed ON inbox_marks (until) WHERE until IS NOT NULL;

-- The sinks of notifications, by their names in the config file.
CREATE TABLE notify_sinks (
    name         TEXT PRIMARY KEY,
    since        BIGINT NOT NULL,            -- older entries are not sent
    owner        TEXT NOT NULL DEFAULT '',   -- the orchestrator that leases it; empty: none
    leased_until BIGINT NOT NULL DEFAULT 0,
    failures     BIGINT NOT NULL DEFAULT 0,  -- in a row
    retry_at     BIGINT NOT NULL DEFAULT 0,
    sent_at      BIGINT,                     -- last
    failed_at    BIGINT,                     -- last
    error        TEXT NOT NULL DEFAULT ''    -- of the last failure
);
-- The outbox: each notification is stored here before it is sent.
CREATE TABLE notifications (
    id         TEXT PRIMARY KEY,             -- sent with each try, so that the receiver can detect duplicates
    sink       TEXT NOT NULL,
    key        TEXT NOT NULL,                -- of the entry; of a digest, its own id
    digest_id  TEXT NOT NULL DEFAULT '',     -- the digest that contains it; empty: it is sent by itself
    state      TEXT NOT NULL,
    tries      BIGINT NOT NULL DEFAULT 0,
    due_at     BIGINT NOT NULL,
    settled_at BIGINT,                       -- when its state became final; NULL: it is not
    error      TEXT NOT NULL DEFAULT '',
    created_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX notifications_by_key ON notifications (sink, key);
CREATE INDEX notifications_waiting ON notifications (sink, due_at) WHERE state = 'waiting';
CREATE INDEX notifications_settled ON notifications (sink, settled_at) WHERE settled_at IS NOT NULL;
CREATE INDEX notifications_of_digest ON notifications (digest_id) WHERE digest_id <> '';
CREATE INDEX notifications_by_age ON notifications (created_at);
