package mirror

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path"
	"strconv"
	"time"
)

const (
	window        = 64 << 10 // bytes before the offset that are compared if the file was compared before; else all are
	mostKnown     = 100_000
	temporary     = ".mirror" // the folder of files that are being fetched; it is never listed
	temporaryLife = 24 * time.Hour
)

// answer is the leader's response to a request for a file.
type answer struct {
	gone  bool  // the leader has no file of that name
	same  bool  // the leader's file begins with the bytes of the local one
	size  int64 // of the leader's file, in bytes
	mtime time.Time
	file  string        // identifies the leader's file, as in headerFile
	body  io.ReadCloser // if same: the bytes that follow the local ones; else nil
}

func (a *answer) close() {
	if a.body != nil {
		_ = a.body.Close() // the rest is not needed
	}
}

// fetch transfers at most one slice of a file. It reports whether more is left to transfer. The rules are in the
// package comment.
func (s *pull) fetch(ctx context.Context, file string) (more bool, err error) {
	info, err := s.root.Lstat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return s.fetchWhole(ctx, file, nil)
	case err != nil:
		return false, err
	case !info.Mode().IsRegular():
		return false, errors.New("the local path is not a regular file")
	}
	a, more, err := s.extend(ctx, file, file, info.Size())
	switch {
	case a.same: // also after a failed transfer: the time of the local write has no meaning
		return more, errors.Join(err, s.root.Chtimes(file, time.Time{}, a.mtime))
	case err != nil || a.gone:
		return false, err
	case s.order(file) != nil:
		return s.fetchWhole(ctx, file, s.order(file))
	case a.mtime.Before(info.ModTime()): // the local file was written later
		return false, nil
	case a.size < info.Size():
		longer, err := s.beginsWith(ctx, file, a.size)
		if err != nil || longer {
			return false, err
		}
	}
	return s.fetchWhole(ctx, file, nil)
}

// order returns the function that compares two contents of a file by age; nil: their contents have no order.
func (s *pull) order(file string) (older func(a, b []byte) bool) {
	if s.Order == nil {
		return nil
	}
	return s.Order(file)
}

// extend appends to the local file named ours, which has this size, the bytes that follow in the leader's file at a
// path. It appends nothing if the leader's file does not begin with the bytes of the local one: then a.same is false.
// more reports whether bytes are left to transfer.
func (s *pull) extend(ctx context.Context, ours, file string, size int64) (a answer, more bool, err error) {
	f, err := s.root.OpenFile(ours, os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return a, false, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	limit := s.sliceBytes()
	a, err = s.request(ctx, file, ours, f, size, limit)
	if err != nil || !a.same {
		return a, false, err
	}
	defer a.close()
	want := min(limit, a.size-size)
	n, err := io.Copy(f, io.LimitReader(a.body, want))
	if err == nil && n < want {
		err = &linkError{io.ErrUnexpectedEOF}
	}
	return a, err == nil && size+n < a.size, err
}

// beginsWith reports whether the local file begins with the leader's, which has this size. It is also true if the
// leader has no such file any more.
func (s *pull) beginsWith(ctx context.Context, file string, size int64) (bool, error) {
	f, err := s.root.Open(file)
	if err != nil {
		return false, err
	}
	defer func() { _ = f.Close() }() // only read from
	a, err := s.request(ctx, file, "", f, size, 0)
	if err != nil {
		return false, err
	}
	a.close()
	return a.gone || a.same, nil
}

// fetchWhole transfers a file to a temporary one, and renames it to its name when it is complete. If older is not nil
// and the fetched content is older than the local file, the fetched one is removed instead. A transfer that was
// interrupted earlier is resumed.
func (s *pull) fetchWhole(ctx context.Context, file string, older func(a, b []byte) bool) (more bool, err error) {
	sum := sha256.Sum256([]byte(file))
	part := path.Join(temporary, hex.EncodeToString(sum[:16]))
	size, err := s.makeTemporary(part)
	if err != nil {
		return false, err
	}
	a, more, err := s.extend(ctx, part, file, size)
	if err == nil && !a.same && !a.gone {
		if err = s.truncate(part); err == nil {
			a, more, err = s.extend(ctx, part, file, 0)
		}
	}
	switch {
	case err != nil || more:
		return more, err
	case !a.same:
		return false, s.root.Remove(part)
	}
	if older != nil {
		outdated, err := s.outdated(part, file, older)
		if err != nil || outdated {
			delete(s.known, part)
			return false, errors.Join(err, s.root.Remove(part))
		}
	}
	if err := s.root.Chtimes(part, time.Time{}, a.mtime); err != nil {
		return false, err
	}
	if err := s.root.MkdirAll(path.Dir(file), 0o700); err != nil {
		return false, err
	}
	if err := s.root.Rename(part, file); err != nil {
		return false, err
	}
	s.known[file] = s.known[part]
	delete(s.known, part)
	return false, nil
}

// outdated reports whether the fetched content is older than the local file. It is false if there is no local file.
func (s *pull) outdated(part, file string, older func(a, b []byte) bool) (bool, error) {
	theirs, err := s.root.ReadFile(part)
	if err != nil {
		return false, err
	}
	ours, err := s.root.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && older(theirs, ours), err
}

func (s *pull) makeTemporary(part string) (size int64, err error) {
	if err := s.root.MkdirAll(temporary, 0o700); err != nil {
		return 0, err
	}
	f, err := s.root.OpenFile(part, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return 0, err
	}
	info, err := f.Stat()
	if err = errors.Join(err, f.Close()); err != nil {
		return 0, err
	}
	return info.Size(), nil
}

func (s *pull) truncate(part string) error {
	f, err := s.root.OpenFile(part, os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// clearTemporary removes temporary files that were last written more than temporaryLife ago.
func (s *pull) clearTemporary(now time.Time) {
	d, err := s.root.Open(temporary)
	if err != nil {
		return // there is none
	}
	defer func() { _ = d.Close() }() // only read from
	entries, _ := d.ReadDir(-1)      // entries that could not be read are read next time
	for _, e := range entries {
		part := path.Join(temporary, e.Name())
		if info, err := s.root.Lstat(part); err == nil && now.Sub(info.ModTime()) > temporaryLife {
			_ = s.root.Remove(part) // else it is tried again next time
		}
	}
}

func (s *pull) sliceBytes() int64 {
	if s.slice > 0 {
		return s.slice
	}
	return slice
}

// request requests the bytes of a file from an offset on. have is the local file with the bytes before the offset. ours
// is its key in known; empty: it is not in known, and is not added.
func (s *pull) request(ctx context.Context, file, ours string, have *os.File, from, limit int64) (answer, error) {
	id := s.known[ours]
	a, err := s.requestOnce(ctx, file, id, have, from, limit)
	if err == nil && !a.gone && !a.same && id != "" {
		delete(s.known, ours)
		a, err = s.requestOnce(ctx, file, "", have, from, limit) // the leader may have replaced the file by one that begins with the same bytes
	}
	if err != nil || ours == "" {
		return a, err
	}
	if delete(s.known, ours); a.same {
		if len(s.known) >= mostKnown {
			clear(s.known)
		}
		s.known[ours] = a.file
	}
	return a, nil
}

// requestOnce sends one request. With the id of the leader's file, only the last bytes before the offset are compared
// (see window), else all.
func (s *pull) requestOnce(ctx context.Context, file, id string, have *os.File, from, limit int64) (a answer, err error) {
	check := from
	if id != "" {
		check = min(from, window)
	}
	sum, err := sumBefore(ctx, have, from, check)
	if err != nil {
		return a, err
	}
	query := url.Values{"path": {file}, "from": {strconv.FormatInt(from, 10)}, "limit": {strconv.FormatInt(limit, 10)},
		"check": {strconv.FormatInt(check, 10)}, "sum": {sum}, "file": {id}}
	response, err := s.get(ctx, filePath, query)
	if err != nil {
		return a, err
	}
	if response.StatusCode == http.StatusOK {
		a.body = response.Body
	} else {
		defer response.Body.Close()
	}
	if source := response.Header.Get(headerSource); source != "" && source != s.source {
		a.close()
		s.cursor, s.nextPoll = "", time.Time{}
		return answer{}, &linkError{errors.New("the answer is from another process than the listing")}
	}
	switch response.StatusCode {
	case http.StatusOK, http.StatusConflict:
	case http.StatusNotFound:
		return answer{gone: true}, nil // the local file stays: see the package comment
	case http.StatusInternalServerError, http.StatusBadRequest:
		text, _ := io.ReadAll(io.LimitReader(response.Body, 500)) // an incomplete text is good enough for the error
		return a, fmt.Errorf("the leader: %s: %s", response.Status, text)
	default:
		return a, &linkError{fmt.Errorf("fetch %s: %s", file, response.Status)}
	}
	if err := a.parse(response.Header); err != nil {
		a.close()
		return answer{}, &linkError{err}
	}
	a.same = response.StatusCode == http.StatusOK
	return a, nil
}

func (a *answer) parse(h http.Header) (err error) {
	if a.size, err = strconv.ParseInt(h.Get(headerSize), 10, 64); err != nil || a.size < 0 {
		return errors.New("an answer has no size")
	}
	mtime, err := strconv.ParseInt(h.Get(headerMtime), 10, 64)
	if err != nil {
		return errors.New("an answer has no time")
	}
	a.mtime, a.file = time.Unix(0, mtime), h.Get(headerFile)
	return nil
}
