-- The journal's head when a service time was written; 0: it was written before this column existed.
ALTER TABLE service_times ADD COLUMN head BIGINT NOT NULL DEFAULT 0;
