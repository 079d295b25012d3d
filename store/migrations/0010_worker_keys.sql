-- The key that a host's worker signs its connections with; NULL: none so far. The suspect one is what came
-- instead of it: a key, or an empty text when it came without.
ALTER TABLE hosts ADD COLUMN worker_key TEXT;
ALTER TABLE hosts ADD COLUMN suspect_worker_key TEXT;
-- Whether the host's worker has ever named its boot: it always does, then.
ALTER TABLE hosts ADD COLUMN names_boot BOOLEAN NOT NULL DEFAULT FALSE;
-- What the worker said of itself when it last connected; empty: not said.
ALTER TABLE hosts ADD COLUMN containment TEXT NOT NULL DEFAULT '';
ALTER TABLE hosts ADD COLUMN scopes TEXT NOT NULL DEFAULT '';
ALTER TABLE hosts ADD COLUMN catalog_hash TEXT NOT NULL DEFAULT '';
