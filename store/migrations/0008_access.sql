-- Named access tokens, browser sessions, and who did what.

CREATE TABLE access_tokens (
    id           TEXT PRIMARY KEY,
    name         TEXT NOT NULL,
    role         TEXT NOT NULL,
    secret_hash  TEXT NOT NULL UNIQUE,
    created_at   BIGINT NOT NULL,
    created_by   TEXT NOT NULL,
    last_used_at BIGINT,
    expires_at   BIGINT,
    revoked_at   BIGINT
);
-- When the name of an expired token is used again, that token is revoked as of its expiry.
CREATE UNIQUE INDEX access_tokens_by_name ON access_tokens (name) WHERE revoked_at IS NULL;

CREATE TABLE sessions (
    secret_hash TEXT PRIMARY KEY,
    token_hash  TEXT NOT NULL,
    created_at  BIGINT NOT NULL,
    expires_at  BIGINT NOT NULL
);
CREATE INDEX sessions_by_expiry ON sessions (expires_at);

-- A host's token is derived from its id and this number; without a row it is 0.
CREATE TABLE host_tokens (
    host_id    TEXT NOT NULL REFERENCES hosts (id),
    generation BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (host_id, generation)
);

ALTER TABLE runs ADD COLUMN created_by TEXT;
ALTER TABLE processed_signals ADD COLUMN sent_by TEXT;
