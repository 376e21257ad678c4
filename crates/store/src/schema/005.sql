-- Schema 5: one table for all that is kept, under one series of numbers. What was observed is kept whole, as JSON.
CREATE TABLE artifact (
    -- Numbers are never given twice, not even after a deletion: a note that says "survey 12" stays right.
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    -- The number it had among its kind before this schema, where that was another.
    was             INTEGER,
    kind            TEXT    NOT NULL,
    started_unix_ms INTEGER NOT NULL,
    -- Absent where nothing is known of the machine.
    fingerprint     TEXT,
    -- What is deleted leaves its line, without what was observed and what lists say of it.
    deleted_unix_ms INTEGER,
    summary         TEXT    CHECK (json_valid(summary)),
    -- Last, so that a list does not read the pages it overflows to.
    observed        TEXT    CHECK (json_valid(observed)),
    CHECK ((observed IS NULL) = (deleted_unix_ms IS NOT NULL))
) STRICT;

CREATE INDEX artifact_by_fingerprint ON artifact (fingerprint, kind);

ALTER TABLE trial RENAME TO old_trial;

-- What belongs to an artifact and was added one by one; it is the array `trials` of what was observed.
CREATE TABLE trial (
    artifact INTEGER NOT NULL REFERENCES artifact (id) ON DELETE CASCADE,
    -- In the order in which they were made, from 0.
    number   INTEGER NOT NULL,
    observed TEXT    NOT NULL CHECK (json_valid(observed)),
    PRIMARY KEY (artifact, number)
) STRICT, WITHOUT ROWID;

-- Surveys keep their numbers. Experiments, then maps, keep theirs where nothing else has it, and get new ones otherwise,
-- above all that were ever given, in the order in which they were begun.
CREATE TABLE renumbered AS
SELECT kind, old, iif(free, old, row_number() OVER (PARTITION BY free ORDER BY started_unix_ms, kind, old)
                                 + (SELECT coalesce(max(seq), 0) FROM sqlite_sequence)) AS new
FROM (
    SELECT 'experiment' AS kind, id AS old, started_unix_ms, id NOT IN (SELECT id FROM survey) AS free FROM experiment
    UNION ALL
    SELECT 'links', id, started_unix_ms, id NOT IN (SELECT id FROM survey UNION SELECT id FROM experiment) FROM link_map
);

INSERT INTO sqlite_sequence (name, seq) SELECT 'artifact', coalesce(max(seq), 0) FROM sqlite_sequence;

INSERT INTO artifact (id, kind, started_unix_ms, fingerprint, summary, observed)
SELECT id, 'survey', started_unix_ms, fingerprint,
       json_object(
           'what', iif(scope = 'tail', 'tail: ', '') || cpus || iif(cpus = 1, ' cpu, ', ' cpus, ')
                   || rounds || iif(rounds = 1, ' round in ', ' rounds in ') || printf('%.0f s', elapsed_s),
           'partial', json(iif(partial, 'true', 'false')),
           'processor', model_name, 'kernel', kernel, 'microcode', microcode, 'corewise', corewise,
           -- As it is written: SQLite has no whole numbers above 2^63.
           'seed', observed -> '$.provenance.seed'),
       observed
FROM survey ORDER BY id;

INSERT INTO artifact (id, was, kind, started_unix_ms, fingerprint, summary, observed)
SELECT new, nullif(old, new), 'experiment', started_unix_ms, fingerprint,
       json_object(
           'what', command, 'processor', plan ->> '$.machine.processor.model_name',
           'kernel', plan ->> '$.machine.system.kernel', 'microcode', plan ->> '$.machine.processor.microcode',
           'corewise', corewise, 'seed', plan -> '$.seed'),
       json_object('experiment', json(plan), 'trials', json_array())
FROM experiment JOIN renumbered ON kind = 'experiment' AND old = id ORDER BY new;

INSERT INTO artifact (id, was, kind, started_unix_ms, fingerprint, summary, observed)
SELECT new, nullif(old, new), 'links', started_unix_ms, fingerprint,
       json_object(
           'what', pairs || iif(pairs = 1, ' pair of ', ' pairs of ') || cpus || iif(cpus = 1, ' cpu (', ' cpus (')
                   || replace(kinds, ',', ', ') || ')' || iif(origin = 'measured', '', ', ' || origin || ' from ' || file),
           'partial', json(iif(observed ->> '$.provenance.partial', 'true', 'false')),
           'processor', model_name, 'kernel', observed ->> '$.machine.system.kernel',
           'microcode', observed ->> '$.machine.processor.microcode', 'corewise', corewise,
           'seed', observed -> '$.provenance.seed'),
       observed
FROM link_map JOIN renumbered ON kind = 'links' AND old = id ORDER BY new;

INSERT INTO trial (artifact, number, observed)
SELECT new, number, observed FROM old_trial JOIN renumbered ON kind = 'experiment' AND old = experiment;

DROP TABLE old_trial;
DROP TABLE survey;
DROP TABLE experiment;
DROP TABLE link_map;
DROP TABLE renumbered;
