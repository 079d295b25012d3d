-- The journal's row also has the lease of the writer: see lease.go. A group of
-- units updates this row once, at its end, so the fence costs no extra statement.
ALTER TABLE journal ADD COLUMN epoch BIGINT NOT NULL DEFAULT 0;      -- incremented by each orchestrator that takes over
ALTER TABLE journal ADD COLUMN holder TEXT NOT NULL DEFAULT '';      -- the orchestrator that holds the lease; empty: none
ALTER TABLE journal ADD COLUMN renewed_at BIGINT NOT NULL DEFAULT 0; -- by the database server's clock; 0: released
ALTER TABLE journal ADD COLUMN commits BIGINT NOT NULL DEFAULT 0;    -- groups that were committed
