-- Whether the host's worker signs every request that it sends with the host's token: then none without a signature is taken.
ALTER TABLE hosts ADD COLUMN signs_requests BOOLEAN NOT NULL DEFAULT FALSE;
