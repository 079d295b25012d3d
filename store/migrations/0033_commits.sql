-- The newest group of changes that each writer has committed. One that did not learn what became of its COMMIT looks here: that a transaction of
-- its number was committed proves nothing, because a database that crashed gives the number of one that was under way to another.
CREATE TABLE commits (
    writer TEXT PRIMARY KEY,
    latest BIGINT NOT NULL,
    at     BIGINT NOT NULL -- when, so that those of processes that are gone can be forgotten
);
