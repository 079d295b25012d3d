-- A run that waits for a host has no session that could be open. It need not be in the index of those that are, and leave it when it
-- is given to a host.

DROP INDEX runs_open;
CREATE INDEX runs_open ON runs ((host_id || '')) WHERE session_ended_at IS NULL AND host_id IS NOT NULL;
