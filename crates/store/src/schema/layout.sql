-- One table for all that is kept, under one series of numbers. What was observed is kept whole, as JSON.
CREATE TABLE artifact (
    -- Numbers are never given twice, not even after a deletion: a note that says "survey 12" stays right.
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    kind            TEXT    NOT NULL,
    started_unix_ms INTEGER NOT NULL,
    -- Absent if nothing is known of the machine.
    fingerprint     TEXT,
    -- A deleted artifact leaves its line, without what was observed and its summary.
    deleted_unix_ms INTEGER,
    summary         TEXT    CHECK (json_valid(summary)),
    -- Last, so that a list does not read the pages it overflows to.
    observed        TEXT    CHECK (json_valid(observed)),
    CHECK ((observed IS NULL) = (deleted_unix_ms IS NOT NULL))
) STRICT;

CREATE INDEX artifact_by_fingerprint ON artifact (fingerprint, kind);

-- Parts of an artifact that were added one by one; they are the array `trials` of what was observed.
CREATE TABLE trial (
    artifact INTEGER NOT NULL REFERENCES artifact (id) ON DELETE CASCADE,
    -- In the order in which they were made, from 0.
    number   INTEGER NOT NULL,
    observed TEXT    NOT NULL CHECK (json_valid(observed)),
    PRIMARY KEY (artifact, number)
) STRICT, WITHOUT ROWID;
