-- Who works on a request under an idempotency key whose result is not known yet; empty: it is known.
ALTER TABLE idempotency ADD COLUMN owner TEXT NOT NULL DEFAULT '';
