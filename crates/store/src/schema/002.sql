-- Schema 2: experiments, and their trials one by one. Both are kept whole, as JSON; the other columns are copies for lists.
CREATE TABLE experiment (
    -- Numbers are never given twice, as those of surveys.
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    started_unix_ms INTEGER NOT NULL,
    fingerprint     TEXT    NOT NULL,
    command         TEXT    NOT NULL,
    corewise        TEXT    NOT NULL,
    -- What is tried, and how it is judged.
    plan            TEXT    NOT NULL CHECK (json_valid(plan))
) STRICT;

CREATE INDEX experiment_by_fingerprint ON experiment (fingerprint);

CREATE TABLE trial (
    experiment INTEGER NOT NULL REFERENCES experiment (id) ON DELETE CASCADE,
    -- In the order in which they were made, from 0.
    number     INTEGER NOT NULL,
    observed   TEXT    NOT NULL CHECK (json_valid(observed)),
    PRIMARY KEY (experiment, number)
) STRICT, WITHOUT ROWID;
