package store

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"svc"
)

// inboxSource is the query for one cause of entries. It returns the columns of inboxColumns. An entry's key begins with
// the kind and the id of the record that the entry is about. The rest of the key identifies the occurrence. It is taken
// from the record, so that the key is the same after a restart and on every orchestrator.
type inboxSource struct {
	kind    svc.InboxKind
	subject string // the column with the id of the record that an entry is about
	from    string // "SELECT … FROM … WHERE …"
}

// inboxColumns are the columns that every source returns, in this order.
const inboxColumns = `key, since, run_id, task_id, project_id, slug, host_id, workspace_id, subject, reason, message, exit_code,
	files, additions, deletions, open_runs`

// ofRun are the columns run_id to subject of an entry about a run. Slug and title are subqueries and not joins, so that
// they do not change the order in which the query reads its tables.
const ofRun = `runs.id AS run_id, runs.task_id AS task_id, runs.project_id AS project_id, (SELECT slug FROM projects WHERE projects.id = runs.project_id) AS slug,
	runs.host_id AS host_id, runs.workspace_id AS workspace_id, (SELECT title FROM work_items WHERE work_items.id = runs.task_id) AS subject`

// noChange and noRuns fill the columns that only some kinds of entries have.
const (
	noChange = "CAST(0 AS BIGINT) AS files, CAST(0 AS BIGINT) AS additions, CAST(0 AS BIGINT) AS deletions"
	noRuns   = "CAST(0 AS BIGINT) AS open_runs"
)

// toReview is the condition of the index workspaces_to_review.
const toReview = `workspaces.state <> 'removed' AND workspaces.discarded_at IS NULL AND workspaces.landed_at IS NULL
	AND (workspaces.files > 0 OR workspaces.checkpoint > workspaces.relayed_checkpoint)`

// inboxSources has the queries of all causes. The cost of each depends on the entries that it finds, or on recent
// records, never on the number of all records.
var inboxSources = []inboxSource{
	{svc.InboxNeedsInput, "runs.id", `SELECT 'needs_input.' || runs.id || '.' || runs.attempt || '.' || runs.asked_at AS key, runs.asked_at AS since, ` + ofRun + `,
		'' AS reason, coalesce(runs.progress_message, '') AS message, CAST(NULL AS BIGINT) AS exit_code, ` + noChange + ", " + noRuns + `
		FROM runs WHERE runs.needs_input AND runs.asked_at IS NOT NULL`},
	{svc.InboxFailed, "runs.id", `SELECT 'failed.' || runs.id || '.' || runs.attempt AS key, runs.ended_at AS since, ` + ofRun + `,
		coalesce(runs.failure_reason, '') AS reason, coalesce(runs.error, '') AS message, runs.exit_code AS exit_code, ` + noChange + ", " + noRuns + `
		FROM runs WHERE runs.status || '' = 'failed' AND runs.ended_at IS NOT NULL
		AND NOT EXISTS (SELECT 1 FROM runs AS newer WHERE newer.task_id = runs.task_id AND (newer.created_at, newer.id) > (runs.created_at, runs.id))
		AND NOT EXISTS (SELECT 1 FROM work_items WHERE work_items.id = runs.task_id AND work_items.deleted_at IS NOT NULL)`},
	// CROSS JOIN makes SQLite begin with the workspaces.
	{svc.InboxReview, "workspaces.id", `SELECT 'review.' || workspaces.id || '.' || runs.id || '.' || runs.attempt AS key, runs.ended_at AS since, ` + ofRun + `,
		'' AS reason, '' AS message, CAST(NULL AS BIGINT) AS exit_code, workspaces.files AS files, workspaces.additions AS additions, workspaces.deletions AS deletions, ` + noRuns + `
		FROM workspaces CROSS JOIN runs WHERE ` + toReview + ` AND runs.id = workspaces.run_id AND runs.workspace_id || '' = workspaces.id
		AND runs.ended_at IS NOT NULL AND runs.status NOT IN ('pending', 'spawning', 'running')
		AND NOT EXISTS (SELECT 1 FROM runs AS other WHERE other.workspace_id = workspaces.id AND other.status IN ('pending', 'spawning', 'running'))`},
	// CROSS JOIN makes SQLite begin with the open runs.
	{svc.InboxUnconfirmed, "messages.id", `SELECT 'unconfirmed.' || messages.id || '.' || messages.number AS key, messages.updated_at AS since, ` + ofRun + `,
		messages.reason AS reason, messages.text AS message, CAST(NULL AS BIGINT) AS exit_code, ` + noChange + ", " + noRuns + `
		FROM runs CROSS JOIN messages WHERE ` + openOn + ` > '' AND runs.status IN ('spawning', 'running')
		AND messages.state = 'unconfirmed' AND messages.run_id = runs.id AND messages.attempt = runs.attempt
		AND NOT EXISTS (SELECT 1 FROM messages AS later WHERE later.run_id = messages.run_id AND later.number > messages.number AND later.state = 'acknowledged')`},
	// The column message has the landing as JSON; scan decodes it.
	{svc.InboxLandFailed, "workspaces.id", `SELECT 'land_failed.' || workspaces.id || '.' || workspaces.land_failed_at AS key, workspaces.land_failed_at AS since, ` + ofRun + `,
		'' AS reason, workspaces.landing AS message, CAST(NULL AS BIGINT) AS exit_code, ` + noChange + ", " + noRuns + `
		FROM workspaces CROSS JOIN runs WHERE workspaces.land_failed_at IS NOT NULL AND runs.id = workspaces.run_id`},
	hostSource(svc.HostTroubleOffline, "offline_since", "hosts.status = 'offline' AND "+openRuns+" > 0"),
	hostSource(svc.HostTroubleSuspect, "suspect_since", "hosts.instance_suspect AND "+openRuns+" > 0"),
	hostSource(svc.HostTroubleDisk, "disk_low_since", "hosts.status <> 'offline'"),
}

func hostSource(trouble, since, condition string) inboxSource {
	return inboxSource{svc.InboxHost, "hosts.id", `SELECT 'host.' || hosts.id || '.` + trouble + `.' || hosts.` + since + ` AS key, hosts.` + since + ` AS since,
		CAST(NULL AS TEXT) AS run_id, CAST(NULL AS TEXT) AS task_id, CAST(NULL AS TEXT) AS project_id, '' AS slug, hosts.id AS host_id,
		CAST(NULL AS TEXT) AS workspace_id, hosts.name AS subject, '` + trouble + `' AS reason, '' AS message, CAST(NULL AS BIGINT) AS exit_code,
		` + noChange + ", " + openRuns + ` AS open_runs FROM hosts WHERE hosts.deleted_at IS NULL AND hosts.` + since + ` IS NOT NULL AND ` + condition}
}

// marked joins the entries of a source with their marks: snoozed or dismissed.
func marked(from string) string {
	return "SELECT " + inboxColumns + ", marks.key_of IS NOT NULL AND marks.until IS NULL, marks.until FROM (" + from + `) AS entries
		LEFT JOIN (SELECT key AS key_of, until FROM inbox_marks) AS marks ON marks.key_of = entries.key`
}

func (s inboxSource) scan(row scanner) (c svc.InboxCause, err error) {
	c.Kind = s.kind
	err = row.Scan(&c.Key, &c.Since, &c.RunID, &c.TaskID, &c.ProjectID, &c.ProjectSlug, &c.HostID, &c.WorkspaceID, &c.Subject, &c.Reason, &c.Message,
		&c.ExitCode, &c.Files, &c.Additions, &c.Deletions, &c.OpenRuns, &c.Dismissed, &c.SnoozedUntil)
	if err == nil && s.kind == svc.InboxLandFailed {
		var l svc.Landing
		if err = json.Unmarshal([]byte(c.Message), &l); err == nil {
			c.Reason, c.Message = string(l.Reason), l.Error
		}
	}
	return c, err
}

// list returns the query for the entries of a source that pass the filter, newest first.
func (s inboxSource) list(f svc.InboxFilter, now svc.Time, w where, limit int) (query string, args []any) {
	if f.After > 0 {
		w.add("since > ?", f.After)
	}
	if f.Snoozed {
		w.add("(marks.key_of IS NULL OR marks.until IS NOT NULL)")
	} else {
		w.add("(marks.key_of IS NULL OR marks.until <= ?)", now)
	}
	return fmt.Sprintf("%s%s ORDER BY since DESC, key DESC LIMIT %d", marked(s.from), w.sql(), limit), w.args
}

// Inbox returns a page of the inbox, newest first. The entries are computed from one state of the records.
func (r Reader) Inbox(ctx context.Context, f svc.InboxFilter, now svc.Time, page svc.Page) (svc.List[svc.InboxItem], error) {
	var w where
	if page.Cursor != "" {
		var since svc.Time
		var key string
		if err := readCursor("inbox", page.Cursor, (*int64)(&since), &key); err != nil {
			return svc.List[svc.InboxItem]{}, err
		}
		w.add("(since, key) < (?, ?)", since, key)
	}
	return oneState(ctx, r, func(r Reader) (svc.List[svc.InboxItem], error) {
		found := []svc.InboxItem{}
		for _, s := range inboxSources {
			query, args := s.list(f, now, where{slices.Clone(w.conds), slices.Clone(w.args)}, page.Limit+1)
			causes, err := collect(ctx, r.q, s.scan, query, args...)
			if err != nil {
				return svc.List[svc.InboxItem]{}, fmt.Errorf("list what is %s: %w", s.kind, err)
			}
			for _, c := range causes {
				found = append(found, current(c, now))
			}
		}
		slices.SortFunc(found, func(a, b svc.InboxItem) int {
			if svc.InboxBefore(a, b) {
				return -1
			}
			return 1
		})
		return paged(found, false, page.Limit, func(i svc.InboxItem) string { return cursor("inbox", int64(i.Since), i.Key) }), nil
	})
}

// InboxItem reads an entry whose cause lasts, even if it is snoozed or dismissed.
func (r Reader) InboxItem(ctx context.Context, key string, now svc.Time) (svc.InboxItem, error) {
	kind, subject, ok := svc.ParseInboxKey(key)
	for _, s := range inboxSources {
		if !ok || s.kind != kind {
			continue
		}
		found, err := collect(ctx, r.q, s.scan, marked(s.from+" AND "+s.subject+" = $1")+" WHERE key = $2", subject, key)
		if err != nil {
			return svc.InboxItem{}, fmt.Errorf("read an entry of the inbox: %w", err)
		}
		if len(found) > 0 {
			return current(found[0], now), nil
		}
	}
	return svc.InboxItem{}, svc.Errorf(svc.CodeNotFound, "the inbox has no entry %.200q: its cause may be over", key)
}

// current returns the entry. It removes a snooze that has ended.
func current(c svc.InboxCause, now svc.Time) svc.InboxItem {
	if c.SnoozedUntil != nil && *c.SnoozedUntil <= now {
		c.SnoozedUntil = nil
	}
	return c.Item()
}

// MarkInbox snoozes an entry until a time; nil: it dismisses the entry.
func (tx *Tx) MarkInbox(ctx context.Context, key string, until *svc.Time, by string) error {
	_, err := tx.exec(ctx, `INSERT INTO inbox_marks (key, until, marked_by, created_at) VALUES ($1, $2, $3, $4)
		ON CONFLICT (key) DO UPDATE SET until = $2, marked_by = $3, created_at = $4`, key, until, by, tx.Now)
	if err != nil {
		return fmt.Errorf("mark an entry of the inbox: %w", err)
	}
	return nil
}

// ForgetSnoozes deletes snoozes that ended before a time.
func (tx *Tx) ForgetSnoozes(ctx context.Context, before svc.Time) (int64, error) {
	n, err := tx.exec(ctx, "DELETE FROM inbox_marks WHERE until IS NOT NULL AND until < $1", before)
	if err != nil {
		return 0, fmt.Errorf("forget snoozes: %w", err)
	}
	return n, nil
}

// NoteDiskLow writes whether a host has too little free disk space. It does not change the version of the record.
func (tx *Tx) NoteDiskLow(ctx context.Context, hostID string, low bool) error {
	_, err := tx.exec(ctx, "UPDATE hosts SET disk_low_since = CASE WHEN CAST($1 AS BOOLEAN) THEN coalesce(disk_low_since, CAST($2 AS BIGINT)) END WHERE id = $3", low, tx.Now, hostID)
	if err != nil {
		return fmt.Errorf("note a host's disk space: %w", err)
	}
	return nil
}

// DiskLowHosts returns the ids of the hosts for which NoteDiskLow wrote that they have too little free disk space.
func (r Reader) DiskLowHosts(ctx context.Context) ([]string, error) {
	ids, err := collect(ctx, r.q, func(row scanner) (id string, err error) { return id, row.Scan(&id) }, "SELECT id FROM hosts WHERE disk_low_since IS NOT NULL AND deleted_at IS NULL")
	if err != nil {
		return nil, fmt.Errorf("list hosts with little disk space: %w", err)
	}
	return ids, nil
}
