-- The run that a run continues, and the conversation of its tool.
ALTER TABLE runs ADD COLUMN continues_run_id TEXT;                     -- NULL: none
ALTER TABLE runs ADD COLUMN resumes BOOLEAN NOT NULL DEFAULT FALSE;    -- it continues the conversation instead of starting a new one
ALTER TABLE runs ADD COLUMN conversation TEXT NOT NULL DEFAULT 'null'; -- JSON; null: none is known
CREATE INDEX runs_by_predecessor ON runs (continues_run_id) WHERE continues_run_id IS NOT NULL;
