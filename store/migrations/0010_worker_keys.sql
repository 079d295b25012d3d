-- The key with which a host's worker signs its connections; NULL: none so far. The suspect key is another key
-- that was used instead; empty: a connection without a key.
ALTER TABLE hosts ADD COLUMN worker_key TEXT;
ALTER TABLE hosts ADD COLUMN suspect_worker_key TEXT;
-- Whether the host's worker has ever sent its boot id: then it must always send one.
ALTER TABLE hosts ADD COLUMN names_boot BOOLEAN NOT NULL DEFAULT FALSE;
-- What the worker reported about itself when it last connected; empty: nothing.
ALTER TABLE hosts ADD COLUMN containment TEXT NOT NULL DEFAULT '';
ALTER TABLE hosts ADD COLUMN scopes TEXT NOT NULL DEFAULT '';
ALTER TABLE hosts ADD COLUMN catalog_hash TEXT NOT NULL DEFAULT '';
