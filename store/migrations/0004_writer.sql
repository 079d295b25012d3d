-- The journal's row also says who may write: see lease.go. A group of units
-- updates this row once, at its end, so the fence costs no statement of its own.
ALTER TABLE journal ADD COLUMN epoch BIGINT NOT NULL DEFAULT 0;      -- grows with each orchestrator that takes over
ALTER TABLE journal ADD COLUMN holder TEXT NOT NULL DEFAULT '';      -- who that is; empty: nobody
ALTER TABLE journal ADD COLUMN renewed_at BIGINT NOT NULL DEFAULT 0; -- the database server's clock; 0: given up
ALTER TABLE journal ADD COLUMN commits BIGINT NOT NULL DEFAULT 0;    -- groups that were committed
