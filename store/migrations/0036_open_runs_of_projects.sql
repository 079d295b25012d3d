-- The open runs of a host and those of a project are different conditions to PostgreSQL, so that it does not look for the ones in the
-- index of the others: while both are small it would walk all open runs for each host.

DROP INDEX runs_open_in_project;
CREATE INDEX runs_open_in_project ON runs ((project_id || '')) WHERE session_ended_at IS NULL AND coalesce(host_id, '') <> '';
