-- The owner that executes a request under an idempotency key; empty: the result is known.
ALTER TABLE idempotency ADD COLUMN owner TEXT NOT NULL DEFAULT '';
