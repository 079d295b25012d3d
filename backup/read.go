package backup

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"svc"
)

// Verify reads a whole archive and compares it with its manifest.
func Verify(ctx context.Context, file string) (Manifest, error) {
	return read(ctx, file, func(string, time.Time, io.Reader) error { return nil })
}

// Extract writes the files of an archive below a folder. When it returns without
// an error, every file of the manifest was written whole and synced.
func Extract(ctx context.Context, file, into string) (Manifest, error) {
	return read(ctx, file, func(name string, at time.Time, r io.Reader) (err error) {
		to := filepath.Join(into, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			return err
		}
		f, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		if _, err = io.Copy(f, r); err == nil {
			err = f.Sync()
		}
		if err = errors.Join(err, f.Close()); err != nil {
			return err
		}
		return os.Chtimes(to, at, at) // retention uses the time of modification
	})
}

// read calls take with each file of the archive, and then compares what it read with the manifest.
func read(ctx context.Context, file string, take func(name string, at time.Time, r io.Reader) error) (m Manifest, err error) {
	f, err := os.Open(file)
	if err != nil {
		return m, svc.Errorf(svc.CodeNotFound, "%s cannot be read", file).Because(err)
	}
	defer func() { _ = f.Close() }()
	zip, err := gzip.NewReader(contextReader(ctx, f))
	if err != nil {
		return m, readError(ctx, file, nil, err)
	}
	archive := tar.NewReader(zip)
	var found []File
	for {
		header, err := archive.Next()
		if err != nil { // io.EOF too: the archive ended before its manifest
			return m, readError(ctx, file, found, err)
		}
		if header.Name == manifestName {
			break
		}
		if header.Typeflag != tar.TypeReg || !plain(header.Name) {
			return m, svc.Errorf(svc.CodeConflict, "%s is no backup of svc: it has an entry %q", file, header.Name)
		}
		sum := sha256.New()
		size := &counter{}
		all := io.TeeReader(archive, io.MultiWriter(sum, size))
		if err := take(header.Name, header.ModTime, all); err != nil {
			return m, readError(ctx, file, found, err)
		}
		if _, err := io.Copy(io.Discard, all); err != nil {
			return m, readError(ctx, file, found, err)
		}
		found = append(found, File{Name: header.Name, Size: size.n, SHA256: hexOf(sum)})
	}
	if err := json.NewDecoder(io.LimitReader(archive, maxManifest)).Decode(&m); err != nil {
		return m, readError(ctx, file, found, err)
	}
	if _, err := io.Copy(io.Discard, zip); err != nil { // verifies gzip's checksum, which is at the end
		return m, readError(ctx, file, found, err)
	}
	if m.Format > format {
		return m, svc.Errorf(svc.CodeConflict, "%s was written by a newer svc (%s); use that version", file, m.Version)
	}
	return m, compare(file, m.Files, found)
}

// maxManifest is the most bytes that a manifest may have, enough for millions of files.
const maxManifest = 1 << 30

// plain reports whether a name is a path below the folder that the entry is extracted to, in the normal form that
// Write uses. Thus two different names are never the same file.
func plain(name string) bool {
	return filepath.IsLocal(filepath.FromSlash(name)) && path.Clean(name) == name
}

type counter struct{ n int64 }

// Write adds the length of p to the count.
func (c *counter) Write(p []byte) (int, error) {
	c.n += int64(len(p))
	return len(p), nil
}

// readError returns the error for an archive that could not be read to its end: how many files were read, and which
// was the last.
func readError(ctx context.Context, file string, found []File, err error) error {
	var disk *os.PathError
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &disk):
		return fmt.Errorf("read %s: %w", file, err)
	case len(found) == 0:
		return svc.Errorf(svc.CodeConflict, "%s is no backup of svc", file).Because(err)
	}
	return svc.Errorf(svc.CodeConflict, "%s is incomplete or damaged: %d files could be read, the last is %s, and its manifest could not be read",
		file, len(found), found[len(found)-1].Name).Because(err)
}

// compare returns an error that names the files that are missing, damaged, duplicated or not in the manifest; nil if
// there are none.
func compare(file string, want, got []File) error {
	there := make(map[string]File, len(got))
	var wrong []string
	for _, f := range got {
		if _, twice := there[f.Name]; twice {
			wrong = append(wrong, f.Name+" (twice)")
		}
		there[f.Name] = f
	}
	for _, f := range want {
		switch g, ok := there[f.Name]; {
		case !ok:
			wrong = append(wrong, f.Name+" (missing)")
		case g != f:
			wrong = append(wrong, f.Name+" (damaged)")
		}
		delete(there, f.Name)
	}
	for name := range there {
		wrong = append(wrong, name+" (not in its manifest)")
	}
	if len(wrong) == 0 {
		return nil
	}
	const most = 5
	more := ""
	if n := len(wrong) - most; n > 0 {
		wrong, more = wrong[:most], fmt.Sprintf(" and %d more", n)
	}
	return svc.Errorf(svc.CodeConflict, "%s is incomplete or damaged: %s%s", file, strings.Join(wrong, ", "), more)
}
