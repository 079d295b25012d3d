-- Pending runs are in queues of equal demands (see queue.go), so that a pass over them reads no
-- more runs than there is room for. The condition is written so that no other index matches it:
-- otherwise the index of all runs of a status would be used.
DROP INDEX runs_pending;
CREATE INDEX runs_queue ON runs ((coalesce(pinned_host_id, '') || ' ' || CASE WHEN length(refused) > 1000 THEN id ELSE refused END || ' ' || provider),
    pending_since, id, next_dispatch_at) WHERE status || '' = 'pending';
-- Pending runs in the back-off of a restart.
CREATE INDEX runs_in_back_off ON runs (next_dispatch_at) WHERE status || '' = 'pending' AND next_dispatch_at IS NOT NULL;

-- Dispatches that the host has not confirmed.
CREATE INDEX runs_unconfirmed ON runs (host_id, dispatched_at, id) WHERE status || '' = 'spawning' AND NOT acked;

-- Until when each host could be given runs. Whether a host ever fitted a waiting run is derived from it.
ALTER TABLE hosts ADD COLUMN last_fit_at BIGINT;
UPDATE hosts SET last_fit_at = offline_since;
ALTER TABLE runs DROP COLUMN matched;

-- The times during which an orchestrator was running.
CREATE TABLE service_times (
    began BIGINT PRIMARY KEY,
    until BIGINT NOT NULL
);
