-- Whether the host's worker signs every request that it sends with the host's token. Then requests without a signature are refused.
ALTER TABLE hosts ADD COLUMN signs_requests BOOLEAN NOT NULL DEFAULT FALSE;
