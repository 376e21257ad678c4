-- Schema 1: one row a survey. What was observed is kept whole, as JSON; the other columns are copies for lists.
CREATE TABLE survey (
    -- Numbers are never given twice, not even after a deletion: a note that says "survey 12" stays right.
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    started_unix_ms INTEGER NOT NULL,
    elapsed_s       REAL    NOT NULL,
    fingerprint     TEXT    NOT NULL,
    model_name      TEXT,
    kernel          TEXT,
    microcode       TEXT,
    corewise        TEXT    NOT NULL,
    cpus            INTEGER NOT NULL,
    rounds          INTEGER NOT NULL,
    partial         INTEGER NOT NULL CHECK (partial IN (0, 1)),
    -- Last, so that a list does not read the pages it overflows to.
    observed        TEXT    NOT NULL CHECK (json_valid(observed))
) STRICT;

CREATE INDEX survey_by_fingerprint ON survey (fingerprint);
