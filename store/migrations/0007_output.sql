-- How much of the current attempt's relayed log was journaled. Runs that are older than these columns have -1:
-- their amounts are not known, and what was relayed before counts as journaled.
ALTER TABLE runs ADD COLUMN output_bytes BIGINT NOT NULL DEFAULT -1;
ALTER TABLE runs ADD COLUMN output_lines BIGINT NOT NULL DEFAULT 0;
