-- What runs of a project use when they do not say. A run's working directory is decided when it is admitted, so those that
-- wait get what the project names now.
ALTER TABLE projects ADD COLUMN provider TEXT NOT NULL DEFAULT '';
ALTER TABLE projects ADD COLUMN model TEXT NOT NULL DEFAULT '';

UPDATE runs SET cwd = COALESCE((SELECT cwd FROM projects WHERE projects.id = runs.project_id), '')
WHERE cwd = '' AND status IN ('pending', 'spawning', 'running');
