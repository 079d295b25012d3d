package workspace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"svc/atomicfile"
	"svc/git"
)

// Export is a checkpoint in the form of files for the orchestrator.
type Export struct {
	Number int
	Bundle string // a git bundle on top of the workspace's base commit
	Patch  string // against From
	// From is the commit that the patch starts at: the newest common ancestor of base and checkpoint, or the base if
	// they share no history.
	From string
	Tree string
	Stat git.Stat
}

// Export writes the newest checkpoint as a bundle and a patch, each of at most max bytes. The files stay until
// Acknowledge removes them; an existing file is not written again. The error is git.ErrTooLarge if one would be
// larger: the checkpoint then exists on this host only.
func (h Host) Export(ctx context.Context, id string, max int64) (e Export, err error) {
	l, r, err := h.open(ctx, id)
	if err != nil {
		return Export{}, err
	}
	defer func() { l.release(err) }()
	if r.Newest.Number == 0 {
		return Export{}, fmt.Errorf("export workspace %s: it has no checkpoint: %w", id, ErrNotReady)
	}
	private := h.private(l.under(h.Git), id)
	if err := private.SetRef(checkpointRef(r.Newest.Number), r.Newest.Commit); err != nil {
		return Export{}, err
	}
	e = Export{Number: r.Newest.Number, Tree: r.Newest.Tree, Bundle: h.outFile(id, r.Newest.Number, "bundle"), Patch: h.outFile(id, r.Newest.Number, "patch")}
	if e.From, err = private.MergeBase(ctx, r.BaseCommit, r.Newest.Commit); errors.Is(err, git.ErrNotFound) {
		e.From, err = r.BaseCommit, nil // the agent made a history that shares nothing with the base
	}
	if err != nil {
		return Export{}, err
	}
	if e.Stat, err = private.DiffStat(ctx, e.From, r.Newest.Commit); err != nil {
		return Export{}, err
	}
	err = writeOnce(e.Bundle, func(w io.Writer) error {
		return private.Bundle(ctx, w, checkpointRef(e.Number), r.BaseCommit, max)
	})
	if err != nil {
		return Export{}, err
	}
	err = writeOnce(e.Patch, func(w io.Writer) error { return private.Patch(ctx, w, e.From, r.Newest.Commit, max) })
	return e, err
}

func (h Host) outFile(id string, number int, kind string) string {
	return h.keep(id, filepath.Join("out", strconv.Itoa(number)+"."+kind))
}

// writeOnce writes a file unless it exists. The file gets its name when it is complete and safe against a power cut.
func writeOnce(path string, fill func(io.Writer) error) error {
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("write %s: %w", filepath.Base(path), err)
	}
	if err := atomicfile.Fill(path, 0o600, fill); err != nil {
		return fmt.Errorf("write %s: %w", filepath.Base(path), err)
	}
	return nil
}

// Lost records that the orchestrator no longer has a checkpoint that it had acknowledged: the checkpoint exists on
// this host only.
func (h Host) Lost(ctx context.Context, id string, number int) (err error) {
	l, r, err := h.open(ctx, id)
	if err != nil {
		return err
	}
	defer func() { l.release(err) }()
	if r.Relayed < number {
		return nil
	}
	r.Relayed = number - 1
	return h.write(r)
}

// Acknowledge records that the orchestrator has stored a checkpoint durably, and removes the files of this checkpoint
// and of earlier ones.
func (h Host) Acknowledge(ctx context.Context, id string, number int) (err error) {
	l, r, err := h.open(ctx, id)
	if err != nil {
		return err
	}
	defer func() { l.release(err) }()
	if number > r.Relayed && number <= r.Newest.Number {
		r.Relayed = number
		if err := h.write(r); err != nil {
			return err
		}
	}
	entries, err := os.ReadDir(h.keep(id, "out"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove sent files: %w", err)
	}
	for _, entry := range entries {
		digits, _, _ := strings.Cut(entry.Name(), ".")
		// A name without a number is an unfinished file. Its writer has ended, because writers hold the lock.
		if n, err := strconv.Atoi(digits); err != nil || n <= r.Relayed {
			if err := os.Remove(h.keep(id, filepath.Join("out", entry.Name()))); err != nil {
				return fmt.Errorf("remove sent files: %w", err)
			}
		}
	}
	return nil
}
