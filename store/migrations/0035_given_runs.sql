-- A run without a host has no session. Without this condition it would be in the index of open runs while it waits, and would have to
-- be moved there when it is given to a host.

DROP INDEX runs_open;
CREATE INDEX runs_open ON runs ((host_id || '')) WHERE session_ended_at IS NULL AND host_id IS NOT NULL;
