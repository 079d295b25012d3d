-- Several orchestrators on one PostgreSQL: the journal's row has the member that holds the lease, and the rows of replicas have
-- fingerprints of what all must have in common. The fingerprints are made with the signing key, and no secret can be derived from them.
ALTER TABLE journal ADD COLUMN replica TEXT NOT NULL DEFAULT '';       -- the member that holds the lease; empty: the holder serves alone
ALTER TABLE replicas ADD COLUMN key_print TEXT NOT NULL DEFAULT '';    -- of the signing key
ALTER TABLE replicas ADD COLUMN token_print TEXT NOT NULL DEFAULT '';  -- of the access token and the worker token
ALTER TABLE replicas ADD COLUMN config_print TEXT NOT NULL DEFAULT ''; -- of the settings that all should share
ALTER TABLE replicas ADD COLUMN clock_ahead BIGINT NOT NULL DEFAULT 0; -- milliseconds that its clock is ahead of the database's
