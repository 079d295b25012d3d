package git

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"
)

// Head is what HEAD of a repository names.
type Head struct {
	Ref string // the branch as refs/heads/…; empty: HEAD is detached
	OID string // the commit; empty: the branch has no commits yet
}

// maxRefFile bounds the bytes that are read of a foreign repository's packed-refs. It is enough for a million refs.
const maxRefFile = 128 << 20

// ReadHead reads HEAD of a foreign repository as a file: git is not executed, links that lead out of the repository's
// folders are not followed, and only regular files are opened. For a linked working tree, dir is its own folder and
// common that of the repository; otherwise they are the same. An error means that HEAD is unknown.
func ReadHead(dir, common string) (Head, error) {
	text, err := readText(dir, "HEAD")
	if err != nil {
		return Head{}, fmt.Errorf("read HEAD: %w", err)
	}
	if IsOID(text) {
		return Head{OID: text}, nil
	}
	ref, ok := strings.CutPrefix(text, "ref: ")
	if !ok || !strings.HasPrefix(ref, "refs/heads/") || !fs.ValidPath(ref) {
		return Head{}, fmt.Errorf("read HEAD: unexpected content %.100q", text)
	}
	oid, err := readText(common, ref)
	switch {
	case err == nil && IsOID(oid):
		return Head{Ref: ref, OID: oid}, nil
	case err == nil:
		return Head{}, fmt.Errorf("read %s: unexpected content %.100q", ref, oid)
	case !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR):
		return Head{}, fmt.Errorf("read %s: %w", ref, err)
	}
	oid, err = packedRef(common, ref)
	return Head{Ref: ref, OID: oid}, err
}

// operations are the files and folders that exist in a repository while an operation of git is unfinished.
var operations = []string{"MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply"}

// InOperation reports whether a merge, rebase or the like is unfinished in a foreign repository.
func InOperation(dir string) bool {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return false
	}
	defer root.Close()
	for _, mark := range operations {
		if _, err := root.Lstat(mark); err == nil {
			return true
		}
	}
	return false
}

// packedRef returns the commit of a ref in packed-refs; empty: the ref is not there.
func packedRef(dir, ref string) (string, error) {
	f, err := OpenPlain(dir, "packed-refs")
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read packed-refs: %w", err)
	}
	defer f.Close()
	lines := bufio.NewScanner(io.LimitReader(f, maxRefFile))
	for lines.Scan() {
		oid, name, _ := strings.Cut(lines.Text(), " ")
		if name == ref && IsOID(oid) {
			return oid, nil
		}
	}
	if err := lines.Err(); err != nil {
		return "", fmt.Errorf("read packed-refs: %w", err)
	}
	return "", nil
}

// readText reads a short text file below dir.
func readText(dir, name string) (string, error) {
	f, err := OpenPlain(dir, name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, 4096))
	return strings.TrimSpace(string(text)), err
}

// OpenPlain opens a regular file for reading, below a folder to which others may write: links cannot lead out of the
// folder, and a pipe or device does not block.
func OpenPlain(dir, name string) (*os.File, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", name)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
