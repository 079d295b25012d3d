// Package backup writes and reads an archive of files: a gzipped tar whose last
// entry is a manifest with the size and SHA-256 of every file before it. An
// archive without a manifest is incomplete. The manifest makes every missing or
// damaged file detectable. The package does not depend on runs or databases: its
// caller, cli, lists the files.
package backup

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"time"

	"svc"
)

// manifestName is the last entry of an archive.
const manifestName = "manifest.json"

// format is the version of the archive. A reader refuses a newer one.
const format = 1

// Manifest lists the content of an archive.
type Manifest struct {
	Format    int       `json:"format"`
	Version   string    `json:"version"` // of the svc that wrote it
	CreatedAt time.Time `json:"created_at"`
	Files     []File    `json:"files"`
}

// File is one file of an archive.
type File struct {
	Name   string `json:"name"` // a slash-separated path
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// Bytes returns the number of the files whose names begin with a prefix, and
// their total size.
func (m Manifest) Bytes(prefix string) (files int, total int64) {
	for _, f := range m.Files {
		if len(f.Name) >= len(prefix) && f.Name[:len(prefix)] == prefix {
			files, total = files+1, total+f.Size
		}
	}
	return files, total
}

// Source is a file or a folder, and its name in the archive. A path that does
// not exist is left out.
type Source struct{ Name, Path string }

// Write creates an archive at a path that must not exist yet. Only the owner can
// read it. Files may grow while Write runs: each is archived with the length that
// it had when Write opened it. The archive gets its name only after Write has
// read it back and verified it.
func Write(ctx context.Context, to, version string, sources []Source) (m Manifest, err error) {
	if _, err := os.Lstat(to); !errors.Is(err, fs.ErrNotExist) {
		return m, svc.Errorf(svc.CodeConflict, "%s exists; name a new file", to)
	}
	temp := filepath.Join(filepath.Dir(to), "."+filepath.Base(to)+".partial")
	_ = os.Remove(temp)
	f, err := os.OpenFile(temp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return m, fmt.Errorf("make the backup: %w", err)
	}
	defer func() { _ = os.Remove(temp) }()
	m, err = write(ctx, f, version, sources)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return m, fmt.Errorf("write the backup: %w", err)
	}
	if _, err := Verify(ctx, temp); err != nil {
		return m, fmt.Errorf("read the backup back: %w", err)
	}
	if err := os.Link(temp, to); err != nil { // unlike a rename, it never overwrites
		return m, fmt.Errorf("rename the backup: %w", err)
	}
	return m, nil
}

func write(ctx context.Context, to io.Writer, version string, sources []Source) (Manifest, error) {
	m := Manifest{Format: format, Version: version, CreatedAt: time.Now().UTC().Truncate(time.Second), Files: []File{}}
	zip, err := gzip.NewWriterLevel(to, gzip.BestSpeed)
	if err != nil {
		return m, err
	}
	w := &writer{ctx: ctx, tar: tar.NewWriter(zip), manifest: &m}
	for _, s := range sources {
		if err := w.source(s); err != nil {
			return m, err
		}
	}
	text, err := json.Marshal(m)
	if err != nil {
		return m, err
	}
	if err := w.tar.WriteHeader(&tar.Header{Name: manifestName, Mode: 0o600, Size: int64(len(text)), ModTime: m.CreatedAt}); err != nil {
		return m, err
	}
	if _, err := w.tar.Write(text); err != nil {
		return m, err
	}
	if err := w.tar.Close(); err != nil {
		return m, err
	}
	return m, zip.Close()
}

type writer struct {
	ctx      context.Context //nolint:containedctx // of the one archive
	tar      *tar.Writer
	manifest *Manifest
}

// source adds a file, or the files of a folder in the order of their names.
func (w *writer) source(s Source) error {
	return filepath.WalkDir(s.Path, func(file string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist): // does not exist, or was removed meanwhile
			return nil
		case err != nil:
			return err
		case !entry.Type().IsRegular():
			return nil
		}
		below, err := filepath.Rel(s.Path, file)
		if err != nil {
			return err
		}
		if err = w.file(path.Join(s.Name, filepath.ToSlash(below)), file); errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
}

// small is the size, in bytes, below which a file is read whole before its
// header is written, because its length may change at any time. Larger files
// only grow.
const small = 1 << 20

func (w *writer) file(name, file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	size, from := info.Size(), io.Reader(f)
	if size < small {
		text, err := io.ReadAll(io.LimitReader(f, small))
		if err != nil {
			return err
		}
		size, from = int64(len(text)), bytes.NewReader(text)
	}
	// A tar header has whole seconds. Rounding up would make the extracted file newer than the original.
	changed := info.ModTime().Truncate(time.Second)
	if err := w.tar.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: size, ModTime: changed}); err != nil {
		return err
	}
	sum := sha256.New()
	if n, err := io.CopyN(io.MultiWriter(w.tar, sum), contextReader(w.ctx, from), size); err != nil {
		if errors.Is(err, io.EOF) {
			return svc.Errorf(svc.CodeConflict, "%s became shorter while it was copied (%d of %d bytes); try again", file, n, size)
		}
		return err
	}
	w.manifest.Files = append(w.manifest.Files, File{Name: name, Size: size, SHA256: hexOf(sum)})
	return nil
}

func hexOf(h hash.Hash) string { return hex.EncodeToString(h.Sum(nil)) }

// contextReader returns a reader that fails as soon as ctx has ended.
func contextReader(ctx context.Context, r io.Reader) io.Reader {
	return readerFunc(func(p []byte) (int, error) {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		return r.Read(p)
	})
}

type readerFunc func([]byte) (int, error)

// Read calls the function.
func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
