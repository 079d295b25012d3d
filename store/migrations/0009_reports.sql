-- Who may report about a run. past_hosts are the hosts that were given the attempts before the present one, as a JSON
-- list, the newest last. null: the present attempt was given away before hosts were kept.
ALTER TABLE runs ADD COLUMN past_hosts TEXT NOT NULL DEFAULT 'null';
-- The end was reported with the run's own token alone; its host has yet to confirm it.
ALTER TABLE runs ADD COLUMN end_claimed BOOLEAN NOT NULL DEFAULT FALSE;
