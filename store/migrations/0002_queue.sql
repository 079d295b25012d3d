-- Pending runs stand in queues of equal demands (see queue.go), so that a pass over them reads no
-- more than there is room for. Their condition is written so that no other index can serve it: the
-- one of all runs of a status would be taken otherwise.
DROP INDEX runs_pending;
CREATE INDEX runs_queue ON runs ((coalesce(pinned_host_id, '') || ' ' || CASE WHEN length(refused) > 1000 THEN id ELSE refused END || ' ' || provider),
    pending_since, id, next_dispatch_at) WHERE status || '' = 'pending';
-- Those in the back-off of a restart.
CREATE INDEX runs_in_back_off ON runs (next_dispatch_at) WHERE status || '' = 'pending' AND next_dispatch_at IS NOT NULL;

-- Dispatches that no host has confirmed.
CREATE INDEX runs_unconfirmed ON runs (host_id, dispatched_at, id) WHERE status || '' = 'spawning' AND NOT acked;

-- Whether a host ever fitted a waiting run follows from when each host last could be given runs.
ALTER TABLE hosts ADD COLUMN last_fit_at BIGINT;
UPDATE hosts SET last_fit_at = offline_since;
ALTER TABLE runs DROP COLUMN matched;

-- The times in which an orchestrator was running.
CREATE TABLE service_times (
    began BIGINT PRIMARY KEY,
    until BIGINT NOT NULL
);
