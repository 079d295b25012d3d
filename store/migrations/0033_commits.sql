-- The newest group that each writer has committed. A writer whose COMMIT was not answered reads it here. The status of its
-- transaction id proves nothing, because after a crash PostgreSQL may give the id of a transaction that was in progress to
-- another one.
CREATE TABLE commits (
    writer TEXT PRIMARY KEY,
    latest BIGINT NOT NULL,
    at     BIGINT NOT NULL -- so that the rows of ended processes can be deleted
);
