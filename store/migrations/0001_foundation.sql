-- One text for both engines. Ids are TEXT, times BIGINT (Unix milliseconds),
-- JSON is TEXT. On PostgreSQL every TEXT column gets COLLATE "C" (see
-- migrate.go), so that text compares bytewise on both. On SQLite a table whose
-- primary key is a number, or that is marked "by key", is stored in the order of
-- that key.

CREATE TABLE journal (
    id     BIGINT PRIMARY KEY CHECK (id = 1),
    head   BIGINT NOT NULL, -- seq of the newest event
    purged BIGINT NOT NULL  -- newest seq that retention removed
);
INSERT INTO journal (id, head, purged) VALUES (1, 0, 0);

CREATE TABLE events (
    seq        BIGINT PRIMARY KEY,
    topic      TEXT NOT NULL,
    payload    TEXT NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE INDEX events_by_topic ON events (topic, seq);

CREATE TABLE projects (
    id          TEXT PRIMARY KEY,
    name        TEXT NOT NULL,
    slug        TEXT NOT NULL UNIQUE,
    description TEXT NOT NULL,
    status      TEXT NOT NULL,
    cwd         TEXT NOT NULL,
    archived_at BIGINT,
    created_at  BIGINT NOT NULL,
    updated_at  BIGINT NOT NULL,
    version     BIGINT NOT NULL
);
CREATE INDEX projects_by_name ON projects (name, id);

CREATE TABLE work_items (
    id             TEXT PRIMARY KEY,
    project_id     TEXT NOT NULL REFERENCES projects (id),
    parent_id      TEXT REFERENCES work_items (id),
    kind           TEXT NOT NULL,
    title          TEXT NOT NULL,
    description    TEXT NOT NULL,
    status         TEXT NOT NULL,
    status_source  TEXT NOT NULL,
    confidence     TEXT,
    path           TEXT NOT NULL, -- not indexed: a deep path is longer than the limit of an index row
    position       TEXT NOT NULL,
    auto_mark_done BOOLEAN NOT NULL,
    manual_marks   BIGINT NOT NULL,
    created_at     BIGINT NOT NULL,
    updated_at     BIGINT NOT NULL,
    version        BIGINT NOT NULL,
    deleted_at     BIGINT
);
-- The indexes below end with the id, although a position is unique: otherwise SQLite does not use them for ordered lists.
CREATE UNIQUE INDEX work_items_rank ON work_items (project_id, position);
-- Not partial: subtrees are read with their deleted rows.
CREATE INDEX work_items_by_parent ON work_items (parent_id, position, id);
CREATE INDEX work_items_by_parent_status ON work_items (parent_id, status, position, id) WHERE deleted_at IS NULL;
CREATE INDEX work_items_by_parent_kind ON work_items (parent_id, kind, position, id) WHERE deleted_at IS NULL;
CREATE INDEX work_items_by_project_parent ON work_items (project_id, parent_id, position, id) WHERE deleted_at IS NULL;
CREATE INDEX work_items_by_project_status ON work_items (project_id, status, position, id) WHERE deleted_at IS NULL;
CREATE INDEX work_items_by_project_kind ON work_items (project_id, kind, position, id) WHERE deleted_at IS NULL;
CREATE INDEX work_items_by_project_status_kind ON work_items (project_id, status, kind, position, id) WHERE deleted_at IS NULL;
-- Everything below an item of the first three levels, in order: see addUnder.
CREATE INDEX work_items_below_1 ON work_items (substr(path, 1, 36), position, id) WHERE deleted_at IS NULL AND length(path) > 36;
CREATE INDEX work_items_below_1_status ON work_items (substr(path, 1, 36), status, position, id) WHERE deleted_at IS NULL AND length(path) > 36;
CREATE INDEX work_items_below_1_kind ON work_items (substr(path, 1, 36), kind, position, id) WHERE deleted_at IS NULL AND length(path) > 36;
CREATE INDEX work_items_below_2 ON work_items (substr(path, 38, 36), position, id) WHERE deleted_at IS NULL AND length(path) > 73;
CREATE INDEX work_items_below_2_status ON work_items (substr(path, 38, 36), status, position, id) WHERE deleted_at IS NULL AND length(path) > 73;
CREATE INDEX work_items_below_2_kind ON work_items (substr(path, 38, 36), kind, position, id) WHERE deleted_at IS NULL AND length(path) > 73;
CREATE INDEX work_items_below_3 ON work_items (substr(path, 75, 36), position, id) WHERE deleted_at IS NULL AND length(path) > 110;
CREATE INDEX work_items_below_3_status ON work_items (substr(path, 75, 36), status, position, id) WHERE deleted_at IS NULL AND length(path) > 110;
CREATE INDEX work_items_below_3_kind ON work_items (substr(path, 75, 36), kind, position, id) WHERE deleted_at IS NULL AND length(path) > 110;
CREATE INDEX work_items_by_position ON work_items (position, id) WHERE deleted_at IS NULL;
CREATE INDEX work_items_by_status ON work_items (status, position, id) WHERE deleted_at IS NULL;
CREATE INDEX work_items_by_kind ON work_items (kind, position, id) WHERE deleted_at IS NULL;
CREATE INDEX work_items_by_status_kind ON work_items (status, kind, position, id) WHERE deleted_at IS NULL;

CREATE TABLE hosts (
    id                  TEXT PRIMARY KEY,
    name                TEXT NOT NULL,
    status              TEXT NOT NULL,
    platform            TEXT NOT NULL,
    last_seen_at        BIGINT,
    instance_id         TEXT,
    instance_suspect    BOOLEAN NOT NULL,
    suspect_instance_id TEXT,
    max_runs            BIGINT,
    labels              TEXT NOT NULL,
    providers           TEXT NOT NULL,
    providers_at        BIGINT,
    worker_version      TEXT NOT NULL,
    last_dispatch_at    BIGINT,
    offline_since       BIGINT,
    created_at          BIGINT NOT NULL,
    updated_at          BIGINT NOT NULL,
    version             BIGINT NOT NULL,
    deleted_at          BIGINT
);
CREATE UNIQUE INDEX hosts_by_name ON hosts (name) WHERE deleted_at IS NULL;

CREATE TABLE runs (
    id                TEXT PRIMARY KEY,
    task_id           TEXT NOT NULL REFERENCES work_items (id),
    project_id        TEXT NOT NULL REFERENCES projects (id),
    provider          TEXT NOT NULL,
    session_name      TEXT NOT NULL UNIQUE,
    status            TEXT NOT NULL,
    attempt           BIGINT NOT NULL,
    host_id           TEXT, -- of a host. Without REFERENCES, with which SQLite would keep an undo log for each claim; rows of hosts are never removed
    pinned_host_id    TEXT REFERENCES hosts (id),
    prompt            TEXT NOT NULL,
    args              TEXT NOT NULL,
    model             TEXT NOT NULL,
    cwd               TEXT NOT NULL,
    env               TEXT NOT NULL,
    restart_policy    TEXT NOT NULL,
    max_restarts      BIGINT NOT NULL,
    failure_reason    TEXT,
    exit_code         BIGINT,
    error             TEXT,
    result            TEXT,
    result_reason     TEXT,
    last_progress_seq BIGINT NOT NULL,
    progress_message  TEXT,
    progress_percent  BIGINT,
    needs_input       BOOLEAN NOT NULL,
    last_output_at    BIGINT,
    pending_since     BIGINT NOT NULL,
    next_dispatch_at  BIGINT,
    started_at        BIGINT,
    ended_at          BIGINT,
    session_ended_at  BIGINT,
    task_manual_marks BIGINT NOT NULL,
    matched           BOOLEAN NOT NULL,
    refused           TEXT NOT NULL,
    acked             BOOLEAN NOT NULL,
    dispatched_at     BIGINT,
    created_at        BIGINT NOT NULL,
    updated_at        BIGINT NOT NULL,
    version           BIGINT NOT NULL
);
CREATE INDEX runs_by_age ON runs (created_at, id);
CREATE INDEX runs_by_status ON runs (status, created_at, id);
CREATE INDEX runs_by_project ON runs (project_id, created_at, id);
CREATE INDEX runs_by_project_status ON runs (project_id, status, created_at, id);
CREATE INDEX runs_by_project_host ON runs (project_id, host_id, created_at, id) WHERE host_id IS NOT NULL;
CREATE INDEX runs_by_task ON runs (task_id, created_at, id);
CREATE INDEX runs_by_task_status ON runs (task_id, status, created_at, id);
CREATE INDEX runs_by_task_host ON runs (task_id, host_id, created_at, id) WHERE host_id IS NOT NULL;
CREATE INDEX runs_by_host ON runs (host_id, created_at, id) WHERE host_id IS NOT NULL;
CREATE INDEX runs_by_host_status ON runs (host_id, status, created_at, id) WHERE host_id IS NOT NULL;
CREATE INDEX runs_pending ON runs (pending_since, id) WHERE status = 'pending';
CREATE INDEX runs_open ON runs (host_id) WHERE host_id IS NOT NULL AND session_ended_at IS NULL;

CREATE TABLE processed_signals (
    run_id      TEXT NOT NULL REFERENCES runs (id),
    attempt     BIGINT NOT NULL,
    kind        TEXT NOT NULL,
    source      TEXT NOT NULL,
    via         TEXT NOT NULL,
    sent_at     BIGINT NOT NULL, -- the sender's clock
    received_at BIGINT NOT NULL,
    PRIMARY KEY (run_id, attempt, kind)
) /* by key */;

CREATE TABLE idempotency (
    key         TEXT PRIMARY KEY,
    fingerprint TEXT NOT NULL,
    result      TEXT NOT NULL,
    created_at  BIGINT NOT NULL
);
CREATE INDEX idempotency_by_age ON idempotency (created_at);
