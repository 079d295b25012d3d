-- Each work item has a number in its project, in the order of creation. Deleted items keep their rows and thus
-- their numbers, so that no number is used twice.

ALTER TABLE work_items ADD COLUMN number BIGINT NOT NULL DEFAULT 0;
UPDATE work_items SET number = counted.number FROM
    (SELECT id, row_number() OVER (PARTITION BY project_id ORDER BY created_at, id) AS number FROM work_items) AS counted
    WHERE counted.id = work_items.id;
CREATE UNIQUE INDEX work_items_by_number ON work_items (project_id, number);
