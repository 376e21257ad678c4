-- Schema 3: what a survey is of: every probe ('machine'), or stalls alone ('tail').
ALTER TABLE survey ADD COLUMN scope TEXT NOT NULL DEFAULT 'machine' CHECK (scope IN ('machine', 'tail'));
