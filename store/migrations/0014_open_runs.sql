-- For queries of open runs, SQLite used the index of all runs of a host, because
-- it has the status, and became slower with each run. No other index has this
-- expression, so SQLite must use this one.
DROP INDEX runs_open;
CREATE INDEX runs_open ON runs ((host_id || '')) WHERE session_ended_at IS NULL;
