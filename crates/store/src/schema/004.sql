-- Schema 4: maps of links (`corewise links`). What was observed is kept whole, as JSON; the other columns are copies for lists.
CREATE TABLE link_map (
    -- Numbers are never given twice, as those of surveys.
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    started_unix_ms INTEGER NOT NULL,
    -- Absent where a file was imported of whose machine nothing is known.
    fingerprint     TEXT,
    model_name      TEXT,
    origin          TEXT    NOT NULL CHECK (origin IN ('measured', 'simulated', 'imported')),
    -- The file that was simulated or imported.
    file            TEXT,
    kinds           TEXT    NOT NULL,
    cpus            INTEGER NOT NULL,
    pairs           INTEGER NOT NULL,
    corewise        TEXT    NOT NULL,
    observed        TEXT    NOT NULL CHECK (json_valid(observed))
) STRICT;

CREATE INDEX link_map_by_fingerprint ON link_map (fingerprint);
