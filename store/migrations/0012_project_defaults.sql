-- Defaults for the runs of a project. A run's working directory is set when it is admitted. Therefore runs that are
-- waiting now get the project's current one.
ALTER TABLE projects ADD COLUMN provider TEXT NOT NULL DEFAULT '';
ALTER TABLE projects ADD COLUMN model TEXT NOT NULL DEFAULT '';

UPDATE runs SET cwd = COALESCE((SELECT cwd FROM projects WHERE projects.id = runs.project_id), '')
WHERE cwd = '' AND status IN ('pending', 'spawning', 'running');
