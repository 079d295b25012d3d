package engine

import (
	"context"
	"errors"
	"io"
	"os"

	"svc"
	"svc/hub"
	"svc/review"
)

const (
	// reviewsAtOnce is how many changes of one host may be read at a time: each may hold some large files in memory.
	reviewsAtOnce = 2
	// mostChangedFiles is the maximum number of files in a list of changes.
	mostChangedFiles = 5000
	// largeFile is the size in bytes above which a page shows the patch of a file only on request.
	largeFile = 1 << 20
)

// relayed is a checkpoint whose patch was relayed to this orchestrator.
type relayed struct {
	number int
	info   hub.CheckpointInfo
	file   *os.File
	size   int64
	patch  *review.Patch
}

// readCheckpoint opens the patch of a checkpoint and lists its files; number 0: the newest relayed one. The caller
// closes the file.
func (e *Engine) readCheckpoint(ctx context.Context, w svc.Workspace, number int) (r relayed, err error) {
	if r.number = number; number == 0 {
		r.number = w.RelayedCheckpoint
	}
	f, holder, err := e.openCheckpoint(ctx, w, r.number, hub.CheckpointPatch)
	if err != nil {
		return r, err
	}
	r.file, r.info = f, e.Hub.Checkpoints.Info(holder, r.number)
	if r.info.Tree == "" && r.number == w.Checkpoint {
		r.info.Tree = w.Tree
	}
	info, err := f.Stat()
	if err == nil {
		r.size = info.Size()
		r.patch, err = review.Read(f, r.size)
	}
	if err != nil {
		return r, errors.Join(notReadable(r.number, err), f.Close())
	}
	return r, nil
}

func notReadable(number int, err error) error {
	if errors.Is(err, review.ErrTooLarge) {
		return svc.Errorf(svc.CodeConflict, "checkpoint %d, or the one that it is compared with, has too many files to compare; compare each with its own base commit", number).Because(err)
	}
	if errors.Is(err, review.ErrMalformed) {
		return svc.Errorf(svc.CodeConflict, "the relayed patch of checkpoint %d is malformed", number).Because(err)
	}
	return err
}

// change is the difference between a checkpoint and its base commit, or between it and an earlier checkpoint (since).
type change struct {
	to       relayed
	since    int
	files    []*review.File
	patch    *os.File
	size     int64
	complete bool
}

func (c *change) close() { _ = c.patch.Close() } // opened for reading, or a temporary file: a failed close loses nothing

// openChange reads a change. The difference of two checkpoints is computed here, into a temporary file that has no
// name.
func (e *Engine) openChange(ctx context.Context, id string, number, since int) (c *change, err error) {
	w, err := e.Store.Workspace(ctx, id)
	if err != nil {
		return nil, err
	}
	release, err := e.reviews.acquire(ctx, w.HostID)
	if err != nil {
		return nil, err
	}
	defer release()
	to, err := e.readCheckpoint(ctx, w, number)
	if err != nil {
		return nil, err
	}
	c = &change{to: to, since: since, files: to.patch.Files, patch: to.file, size: to.size, complete: !to.patch.More}
	if since == 0 {
		return c, nil
	}
	defer func() {
		if err = errors.Join(err, to.file.Close()); err != nil {
			c = nil
		}
	}()
	if since >= to.number {
		return nil, svc.Invalid("since", "must be the number of a checkpoint before %d", to.number)
	}
	from, err := e.readCheckpoint(ctx, w, since)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, from.file.Close()) }()
	if err := sameBase(from, to); err != nil {
		return nil, err
	}
	c.patch, err = unlinkedFile(func(f io.Writer) (err error) {
		c.files, c.complete, err = review.Between(from.patch, to.patch, f)
		return notReadable(to.number, err)
	})
	if err == nil {
		c.size, err = c.patch.Seek(0, io.SeekEnd)
		if err != nil {
			err = errors.Join(err, c.patch.Close())
		}
	}
	return c, err
}

// sameBase refuses two checkpoints whose patches have different base commits. That happens when an agent moved its
// branch back behind the base.
func sameBase(from, to relayed) error {
	if from.info.From == "" || from.info.From != to.info.From {
		return svc.Errorf(svc.CodeConflict, "checkpoints %d and %d do not have the same base commit; compare each with its own", from.number, to.number)
	}
	return nil
}

// unlinkedFile returns a temporary file without a name, written by fill. It ceases to exist when it is closed.
func unlinkedFile(fill func(io.Writer) error) (*os.File, error) {
	f, err := os.CreateTemp("", "svc-*.diff")
	if err != nil {
		return nil, err
	}
	err = errors.Join(os.Remove(f.Name()), fill(f))
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Change lists the files that a checkpoint changes; number 0: the newest relayed one. since is an earlier checkpoint
// to compare with; 0: the base commit.
func (e *Engine) Change(ctx context.Context, id string, number, since int) (svc.Change, error) {
	c, err := e.openChange(ctx, id, number, since)
	if err != nil {
		return svc.Change{}, err
	}
	defer c.close()
	out := svc.Change{Checkpoint: c.to.number, Since: since, Tree: c.to.info.Tree, Files: []svc.ChangedFile{}, PatchBytes: c.size, Truncated: !c.complete}
	for _, f := range review.List(c.files) {
		if len(out.Files) == mostChangedFiles {
			out.Truncated = true
			break
		}
		file := svc.ChangedFile{Path: review.Quote(f.Path), OldPath: review.Quote(f.OldPath), Status: string(f.Status), Mode: f.Mode,
			Additions: f.Additions, Deletions: f.Deletions, Binary: f.Binary, TooLarge: f.Unknown || f.End-f.Start > largeFile}
		if f.OldMode != f.Mode {
			file.OldMode = f.OldMode
		}
		out.Files = append(out.Files, file)
	}
	return out, nil
}

// Diff returns a change in the format of git apply. With a path, it returns only the changes to that file. The caller
// closes the file.
func (e *Engine) Diff(ctx context.Context, id string, number, since int, path string) (*os.File, error) {
	if since == 0 && path == "" { // the patch can be copied without reading its list
		f, _, err := e.CheckpointFile(ctx, id, number, hub.CheckpointPatch)
		return f, err
	}
	c, err := e.openChange(ctx, id, number, since)
	if err != nil {
		return nil, err
	}
	if path == "" {
		return c.patch, nil
	}
	defer c.close()
	name := review.Unquote(path)
	found := false
	f, err := unlinkedFile(func(to io.Writer) error {
		for _, f := range c.files {
			if f.Path != name {
				continue
			}
			found = true
			if _, err := io.Copy(to, io.NewSectionReader(c.patch, f.Start, f.End-f.Start)); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil && !found {
		return nil, errors.Join(svc.Invalid("path", "is not a file that checkpoint %d changes", c.to.number), f.Close())
	}
	return f, err
}
