-- The hosts that may report about a run. past_hosts are the hosts that were given the attempts before the current one, as
-- a JSON list, the newest last. null: the current attempt was dispatched before this column existed.
ALTER TABLE runs ADD COLUMN past_hosts TEXT NOT NULL DEFAULT 'null';
-- The end was reported with the run's own token, and its host has not confirmed it yet.
ALTER TABLE runs ADD COLUMN end_claimed BOOLEAN NOT NULL DEFAULT FALSE;
