-- The conditions of the indexes for open runs of hosts and of projects are written differently, so that PostgreSQL does not use the
-- wrong one: while both indexes are small, it would read all open runs for each host.

DROP INDEX runs_open_in_project;
CREATE INDEX runs_open_in_project ON runs ((project_id || '')) WHERE session_ended_at IS NULL AND coalesce(host_id, '') <> '';
