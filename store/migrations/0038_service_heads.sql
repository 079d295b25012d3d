-- The end of the journal when a time of service was written; 0: it was written before that was noted.
ALTER TABLE service_times ADD COLUMN head BIGINT NOT NULL DEFAULT 0;
