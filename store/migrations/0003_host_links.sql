-- When a host's connection ended, by the wall clock; NULL: it is connected, or never was.
ALTER TABLE hosts ADD COLUMN disconnected_since BIGINT;
