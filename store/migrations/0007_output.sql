-- How far the journal has told of the current attempt's relayed log. Runs from before these columns have -1:
-- their sums were not kept, and what was relayed by then counts as told.
ALTER TABLE runs ADD COLUMN output_bytes BIGINT NOT NULL DEFAULT -1;
ALTER TABLE runs ADD COLUMN output_lines BIGINT NOT NULL DEFAULT 0;
