package engine

import (
	"context"
	"errors"

	"svc"
	"svc/hub"
	"svc/review"
	"svc/store"
)

// CreateComment creates a person's comment on lines of a change. The quoted lines are read from the patch, not taken
// from the caller.
func (e *Engine) CreateComment(ctx context.Context, workspaceID string, n svc.NewComment) (svc.Comment, error) {
	if n.Side == "" {
		n.Side = svc.SideNew
	}
	if err := n.Validate(); err != nil {
		return svc.Comment{}, err
	}
	c, err := e.newComment(ctx, workspaceID, n)
	if err != nil {
		return c, err
	}
	c, err = once(ctx, e.Store.WriteRepeatable, func(tx *store.Tx) (svc.Comment, error) {
		c := c
		c.CreatedAt, c.UpdatedAt = tx.Now, tx.Now
		w, err := tx.LockWorkspace(ctx, c.WorkspaceID)
		if err != nil {
			return c, err
		}
		pinned, err := tx.CommentedCheckpoints(ctx, w.ID)
		if err != nil {
			return c, err
		}
		if !keepsPatch(c.Checkpoint, w, pinned) { // a newer checkpoint arrived meanwhile, and the patch of this one is removed
			return c, svc.Errorf(svc.CodeNotRelayed, "the orchestrator no longer has checkpoint %d of this workspace; the newest that it has is %d", c.Checkpoint, w.RelayedCheckpoint)
		}
		many, err := tx.CountComments(ctx, w.ID)
		if err != nil {
			return c, err
		}
		if many >= svc.MaxComments {
			return c, svc.Errorf(svc.CodeConflict, "the workspace has %d comments; delete some first", many)
		}
		tx.Emit(svc.TopicCommentCreated, c.EventPayload(w))
		return c, tx.InsertComment(ctx, c)
	})
	if err != nil {
		return c, err
	}
	return e.anchoredOne(ctx, c)
}

// newComment builds a comment from a request, with the quoted lines.
func (e *Engine) newComment(ctx context.Context, workspaceID string, n svc.NewComment) (c svc.Comment, err error) {
	w, err := e.Store.Workspace(ctx, workspaceID)
	if err != nil {
		return c, err
	}
	if newest := max(w.Checkpoint, w.RelayedCheckpoint); n.Checkpoint > newest {
		return c, svc.Invalid("checkpoint", "there is no checkpoint %d; the newest is %d", n.Checkpoint, newest)
	}
	release, err := e.reviews.acquire(ctx, w.HostID)
	if err != nil {
		return c, err
	}
	defer release()
	on, err := e.readCheckpoint(ctx, w, n.Checkpoint)
	if err != nil {
		return c, err
	}
	defer on.file.Close()
	c = svc.Comment{ID: svc.NewID(), WorkspaceID: w.ID, Checkpoint: on.number, Path: review.Quote(review.Unquote(n.Path)), Side: n.Side, Line: n.Line,
		EndLine: n.EndLine, Body: n.Body, Author: svc.CallerName(ctx), State: svc.CommentDraft, Version: 1}
	c.Quote, err = quote(on, c)
	return c, err
}

// keepsPatch reports whether the patch of a checkpoint is kept, given the checkpoints that have comments (pinned).
func keepsPatch(number int, w svc.Workspace, pinned []int) bool {
	for _, n := range pinned {
		if n == number {
			return true
		}
	}
	return hub.KeepsPatch(number, w.RelayedCheckpoint)
}

// placeOf returns where a comment's lines are in the checkpoint that it is about.
func placeOf(c svc.Comment) review.Place {
	at := review.Place{Path: review.Unquote(c.Path), Old: c.Side == svc.SideOld}
	if c.Line != nil {
		at.First, at.Last = *c.Line, *c.Line
	}
	if c.EndLine != nil {
		at.Last = *c.EndLine
	}
	return at
}

// quote returns the lines of a comment, read from the patch.
func quote(on relayed, c svc.Comment) (string, error) {
	if placeOf(c).Last-placeOf(c).First > svc.MaxQuote {
		return "", svc.Invalid("end_line", "quotes more than %d bytes", svc.MaxQuote)
	}
	text, err := on.patch.Lines(placeOf(c), svc.MaxQuote)
	switch {
	case errors.Is(err, review.ErrTooLarge):
		return "", svc.Invalid("end_line", "quotes more than %d bytes", svc.MaxQuote)
	case errors.Is(err, review.ErrNoLines) && c.Line == nil:
		return "", svc.Invalid("path", "is not a file that checkpoint %d changes", on.number)
	case errors.Is(err, review.ErrNoLines):
		return "", svc.Invalid("line", "is not in the patch of checkpoint %d, on the %s side of %s", on.number, c.Side, c.Path)
	}
	return text, err
}

// Comments returns a page of a workspace's comments, oldest first. Each has the position of its lines in the newest
// checkpoint.
func (e *Engine) Comments(ctx context.Context, workspaceID string, page svc.Page) (svc.List[svc.Comment], error) {
	w, err := e.Store.Workspace(ctx, workspaceID)
	if err != nil {
		return svc.List[svc.Comment]{}, err
	}
	list, err := e.Store.Comments(ctx, workspaceID, page)
	if err != nil {
		return list, err
	}
	return list, e.anchor(ctx, w, list.Items)
}

func (e *Engine) anchoredOne(ctx context.Context, c svc.Comment) (svc.Comment, error) {
	w, err := e.Store.Workspace(ctx, c.WorkspaceID)
	if err != nil {
		return c, err
	}
	list := []svc.Comment{c}
	err = e.anchor(ctx, w, list)
	return list[0], err
}

// anchor sets where the comments' lines are in the newest checkpoint. If a checkpoint cannot be read or compared, the
// anchor is svc.AnchorGone.
func (e *Engine) anchor(ctx context.Context, w svc.Workspace, list []svc.Comment) error {
	if len(list) == 0 {
		return nil
	}
	release, err := e.reviews.acquire(ctx, w.HostID)
	if err != nil {
		return err
	}
	defer release()
	newest, err := e.readCheckpoint(ctx, w, 0)
	if err == nil {
		defer newest.file.Close()
	}
	from := map[int]relayed{}
	for i := range list {
		c := &list[i]
		c.Anchor, c.AnchorPath, c.AnchorLine = svc.AnchorGone, "", nil
		if err != nil {
			continue
		}
		on, read := from[c.Checkpoint]
		if !read {
			var missing error
			if on, missing = e.readCheckpoint(ctx, w, c.Checkpoint); missing == nil {
				defer on.file.Close()
			} else {
				on.patch = nil
			}
			from[c.Checkpoint] = on
		}
		if on.patch == nil || c.Checkpoint != newest.number && sameBase(on, newest) != nil {
			continue
		}
		if there, ok := review.Locate(on.patch, newest.patch, placeOf(*c)); ok {
			c.Anchor, c.AnchorPath = svc.AnchorSame, review.Quote(there.Path)
			if there.First > 0 {
				c.AnchorLine = &there.First
			}
			if c.AnchorPath != c.Path || c.Line != nil && there.First != *c.Line {
				c.Anchor = svc.AnchorMoved
			}
		}
	}
	return nil
}

// Comment reads a comment.
func (e *Engine) Comment(ctx context.Context, id string) (svc.Comment, error) {
	c, err := e.Store.Comment(ctx, id)
	if err != nil {
		return c, err
	}
	return e.anchoredOne(ctx, c)
}

// changeComment changes a comment in a unit of work of its own. It writes and journals only a real change.
func (e *Engine) changeComment(ctx context.Context, id string, match Match, change func(*store.Tx, *svc.Comment, svc.Workspace) error) (svc.Comment, error) {
	c, err := once(ctx, e.Store.WriteRepeatable, func(tx *store.Tx) (svc.Comment, error) {
		c, err := tx.LockComment(ctx, id)
		if err != nil {
			return c, err
		}
		if err := checkMatch(match, c.Version); err != nil {
			return c, err
		}
		w, err := tx.Workspace(ctx, c.WorkspaceID)
		if err != nil {
			return c, err
		}
		before := c
		if err := change(tx, &c, w); err != nil || c == before {
			return c, err
		}
		if err := tx.UpdateComment(ctx, &c); err != nil {
			return c, err
		}
		tx.Emit(svc.TopicCommentUpdated, c.EventPayload(w))
		return c, nil
	})
	if err != nil {
		return c, err
	}
	return e.anchoredOne(ctx, c)
}

// UpdateComment changes a comment's text or state.
func (e *Engine) UpdateComment(ctx context.Context, id string, patch svc.CommentPatch, match Match) (svc.Comment, error) {
	return e.changeComment(ctx, id, match, func(_ *store.Tx, c *svc.Comment, _ svc.Workspace) error { return patch.Apply(c) })
}

// DeleteComment removes a comment.
func (e *Engine) DeleteComment(ctx context.Context, id string, match Match) error {
	return e.Store.WriteRepeatable(ctx, func(tx *store.Tx) error {
		c, err := tx.LockComment(ctx, id)
		if err != nil {
			return err
		}
		if err := checkMatch(match, c.Version); err != nil {
			return err
		}
		w, err := tx.Workspace(ctx, c.WorkspaceID)
		if err != nil {
			return err
		}
		tx.Emit(svc.TopicCommentDeleted, c.EventPayload(w))
		return tx.DeleteComment(ctx, c.ID)
	})
}

// HandleComment records that the agent of a run has handled a comment on the run's own workspace.
func (e *Engine) HandleComment(ctx context.Context, who Reporter, runID, id, note string) (svc.Comment, error) {
	if err := e.paceSignal(ctx, who, &svc.Signal{Kind: svc.SignalProgress, RunID: runID}, e.paces.impatient); err != nil {
		return svc.Comment{}, err
	}
	return e.changeComment(ctx, id, nil, func(tx *store.Tx, c *svc.Comment, w svc.Workspace) error {
		r, err := tx.Run(ctx, runID)
		if err != nil {
			return err
		}
		attempt := who.Attempt
		if attempt == 0 { // the worker's connection reports for any of its sessions
			attempt = r.Attempt
		}
		if err := who.mayReport(&r, attempt); err != nil {
			return err
		}
		if r.WorkspaceID == nil || *r.WorkspaceID != w.ID {
			return svc.Errorf(svc.CodeForbidden, "comment %s is not about the workspace of run %s", c.ID, r.ID)
		}
		return c.Handle(note)
	})
}
