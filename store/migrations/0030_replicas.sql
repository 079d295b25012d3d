-- The orchestrator processes, also those that ended within the last day. Used for display and routing, never to decide who may write.
CREATE TABLE replicas (
    id           TEXT PRIMARY KEY,  -- new for each process
    address      TEXT NOT NULL,     -- where the others reach it; empty: it serves alone
    version      TEXT NOT NULL,
    state        TEXT NOT NULL,
    uplinks      BIGINT NOT NULL,   -- connections of workers, at the last beat
    since        BIGINT NOT NULL,
    last_seen_at BIGINT NOT NULL    -- on PostgreSQL both times are from the server's clock
);
