package store

import (
	"context"
	"fmt"

	"svc"
)

const commentColumns = `id, workspace_id, checkpoint, path, side, line, end_line, quote, body, author, state, run_id, message_id, delivery, delivery_reason, note, created_at, updated_at, version`

func scanComment(row scanner) (c svc.Comment, err error) {
	return c, row.Scan(&c.ID, &c.WorkspaceID, &c.Checkpoint, &c.Path, &c.Side, &c.Line, &c.EndLine, &c.Quote, &c.Body, &c.Author, &c.State, &c.RunID,
		&c.MessageID, &c.Delivery, &c.DeliveryReason, &c.Note, &c.CreatedAt, &c.UpdatedAt, &c.Version)
}

// Comment reads a comment.
func (r Reader) Comment(ctx context.Context, id string) (svc.Comment, error) {
	return readOne(ctx, r.q, scanComment, "comment", id, "SELECT "+commentColumns+" FROM comments WHERE id = $1", id)
}

// LockComment reads and locks a comment that this unit changes.
func (tx *Tx) LockComment(ctx context.Context, id string) (svc.Comment, error) {
	return readOne(ctx, tx.q, scanComment, "comment", id, "SELECT "+commentColumns+" FROM comments WHERE id = $1"+tx.d.forUpdate, id)
}

// LockCommentsOf reads and locks the comments that were sent with a message, by id.
func (tx *Tx) LockCommentsOf(ctx context.Context, messageID string) ([]svc.Comment, error) {
	found, err := collect(ctx, tx.q, scanComment, "SELECT "+commentColumns+" FROM comments WHERE message_id = $1 ORDER BY id"+tx.d.forUpdate, messageID)
	if err != nil {
		return nil, fmt.Errorf("list the comments of a message: %w", err)
	}
	return found, nil
}

// QueuedComments returns comments that are part of a run's prompt and whose delivery is not settled yet: it is not
// known whether the run has started with that prompt. They are ordered by id, and begin after the id after.
func (r Reader) QueuedComments(ctx context.Context, after string, limit int) ([]svc.Comment, error) {
	found, err := collect(ctx, r.q, scanComment, "SELECT "+commentColumns+` FROM comments
		WHERE delivery = 'queued' AND message_id IS NULL AND run_id IS NOT NULL AND id > $1 ORDER BY id LIMIT CAST($2 AS BIGINT)`, after, limit)
	if err != nil {
		return nil, fmt.Errorf("list the comments that were not delivered: %w", err)
	}
	return found, nil
}

// Comments returns a page of a workspace's comments, oldest first.
func (r Reader) Comments(ctx context.Context, workspaceID string, page svc.Page) (svc.List[svc.Comment], error) {
	var w where
	w.add("workspace_id = ?", workspaceID)
	if page.Cursor != "" {
		var at svc.Time
		var id string
		if err := readCursor("comments", page.Cursor, (*int64)(&at), &id); err != nil {
			return svc.List[svc.Comment]{}, err
		}
		w.add("(created_at, id) > (?, ?)", at, id)
	}
	found, cut, err := collectUpTo(ctx, r.q, page.Bytes, scanComment, fmt.Sprintf("SELECT %s FROM comments%s ORDER BY created_at, id LIMIT %d",
		commentColumns, w.sql(), page.Limit+1), w.args...)
	if err != nil {
		return svc.List[svc.Comment]{}, fmt.Errorf("list comments: %w", err)
	}
	return paged(found, cut, page.Limit, func(c svc.Comment) string { return cursor("comments", int64(c.CreatedAt), c.ID) }), nil
}

// AllComments returns every comment of a workspace, oldest first. There are at most svc.MaxComments.
func (r Reader) AllComments(ctx context.Context, workspaceID string) ([]svc.Comment, error) {
	found, err := collect(ctx, r.q, scanComment, "SELECT "+commentColumns+" FROM comments WHERE workspace_id = $1 ORDER BY created_at, id", workspaceID)
	if err != nil {
		return nil, fmt.Errorf("list comments: %w", err)
	}
	return found, nil
}

// CommentedCheckpoints returns the numbers of the checkpoints of a workspace that have comments.
func (r Reader) CommentedCheckpoints(ctx context.Context, workspaceID string) ([]int, error) {
	found, err := collect(ctx, r.q, func(row scanner) (n int, err error) { return n, row.Scan(&n) },
		"SELECT DISTINCT checkpoint FROM comments WHERE workspace_id = $1", workspaceID)
	if err != nil {
		return nil, fmt.Errorf("list commented checkpoints: %w", err)
	}
	return found, nil
}

// CountComments returns how many comments a workspace has.
func (r Reader) CountComments(ctx context.Context, workspaceID string) (n int, err error) {
	if err := r.q.QueryRowContext(ctx, "SELECT count(*) FROM comments WHERE workspace_id = $1", workspaceID).Scan(&n); err != nil {
		return 0, fmt.Errorf("count comments: %w", err)
	}
	return n, nil
}

// InsertComment adds a comment.
func (tx *Tx) InsertComment(ctx context.Context, c svc.Comment) error {
	_, err := tx.exec(ctx, "INSERT INTO comments ("+commentColumns+") VALUES ($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13,$14,$15,$16,$17,$18,$19)",
		c.ID, c.WorkspaceID, c.Checkpoint, c.Path, c.Side, c.Line, c.EndLine, c.Quote, c.Body, c.Author, c.State, c.RunID,
		c.MessageID, c.Delivery, c.DeliveryReason, c.Note, c.CreatedAt, c.UpdatedAt, c.Version)
	if err != nil {
		return fmt.Errorf("insert comment: %w", err)
	}
	return nil
}

// UpdateComment writes a comment that was locked in this unit. It does not change the place that the comment is about.
func (tx *Tx) UpdateComment(ctx context.Context, c *svc.Comment) error {
	c.UpdatedAt = tx.Now
	n, err := tx.exec(ctx, `UPDATE comments SET body = $1, state = $2, run_id = $3, message_id = $4, delivery = $5, delivery_reason = $6, note = $7, updated_at = $8,
		version = version + 1 WHERE id = $9 AND version = $10`,
		c.Body, c.State, c.RunID, c.MessageID, c.Delivery, c.DeliveryReason, c.Note, c.UpdatedAt, c.ID, c.Version)
	return changed("comment", c.ID, &c.Version, n, err)
}

// DeleteComment removes a comment.
func (tx *Tx) DeleteComment(ctx context.Context, id string) error {
	if _, err := tx.exec(ctx, "DELETE FROM comments WHERE id = $1", id); err != nil {
		return fmt.Errorf("delete comment: %w", err)
	}
	return nil
}
