-- Several orchestrators on one PostgreSQL: the journal's row says which of them holds it, and the list of replicas what they must have in
-- common. The prints are made with the signing key; they tell nobody a secret.
ALTER TABLE journal ADD COLUMN replica TEXT NOT NULL DEFAULT '';       -- the member that holds it; empty: whoever holds it serves alone
ALTER TABLE replicas ADD COLUMN key_print TEXT NOT NULL DEFAULT '';    -- of the signing key
ALTER TABLE replicas ADD COLUMN token_print TEXT NOT NULL DEFAULT '';  -- of the access token and the worker token
ALTER TABLE replicas ADD COLUMN config_print TEXT NOT NULL DEFAULT ''; -- of the settings that all should share
ALTER TABLE replicas ADD COLUMN clock_ahead BIGINT NOT NULL DEFAULT 0; -- milliseconds that its clock is ahead of the database's
