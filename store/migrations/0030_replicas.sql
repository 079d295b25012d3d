-- The orchestrator processes, those that ended among them for a day. It serves display and routing; no write trusts it.
CREATE TABLE replicas (
    id           TEXT PRIMARY KEY,  -- new for each process
    address      TEXT NOT NULL,     -- where others reach it; empty: nowhere
    version      TEXT NOT NULL,
    state        TEXT NOT NULL,
    uplinks      BIGINT NOT NULL,   -- connections of workers, at the last beat
    since        BIGINT NOT NULL,
    last_seen_at BIGINT NOT NULL    -- on PostgreSQL both times are its own clock's
);
