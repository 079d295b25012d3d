package mirror

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"path"
	"time"
)

// linkError is a failed or interrupted request to the leader. It says nothing about the leader's files.
type linkError struct{ err error }

func (e *linkError) Error() string { return e.err.Error() }
func (e *linkError) Unwrap() error { return e.err }

// get sends a request, and cancels it if nothing of the answer arrives for idleTimeout. The caller must close the body.
func (s *pull) get(ctx context.Context, endpoint string, query url.Values) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	watch := time.AfterFunc(idleTimeout, func() { cancel(errors.New("the leader sent nothing for too long")) })
	stop := func() { watch.Stop(); cancel(nil) }
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.base+endpoint+"?"+query.Encode(), nil)
	if err != nil {
		stop()
		return nil, err
	}
	response, err := s.Client.Do(request)
	if err != nil {
		stop()
		return nil, &linkError{err}
	}
	response.Body = &watchedBody{response.Body, watch, stop}
	return response, nil
}

// watchedBody restarts the idle timeout with each read.
type watchedBody struct {
	io.ReadCloser
	watch *time.Timer
	stop  func()
}

func (b *watchedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.watch.Reset(idleTimeout)
	if err != nil && !errors.Is(err, io.EOF) {
		err = &linkError{err}
	}
	return n, err
}

func (b *watchedBody) Close() error {
	b.stop()
	return b.ReadCloser.Close()
}

// poll requests the changes since the cursor, or a listing of all files if that is due, and queues the files that
// differ.
func (s *pull) poll(ctx context.Context, now time.Time) error {
	query := url.Values{}
	if s.cursor != "" && now.Before(s.nextFull) {
		query.Set("since", s.cursor)
	}
	response, err := s.get(ctx, listPath, query)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return &linkError{fmt.Errorf("list: %s", response.Status)}
	}
	source := response.Header.Get(headerSource)
	if source == "" {
		return &linkError{errors.New("list: the answer has no source: it is not from a mirror")}
	}
	s.setSource(source)
	all := response.Header.Get(headerScope) != scopeChanges
	if all {
		s.failures = 0
		s.clearTemporary(now)
	}
	var old map[string]bool
	if all && s.Gone != nil && !now.Before(s.nextExpire) {
		old = s.old(now.Add(-s.Keep))
	}
	cursor, err := s.readList(response.Body, all, old)
	if err != nil {
		return err
	}
	if s.cursor = cursor; all {
		s.nextFull = now.Add(s.fullInterval())
	}
	if old != nil {
		s.nextExpire = now.Add(expireInterval)
		s.expire(ctx, old)
	}
	s.progress(true)
	return nil
}

// readList compares a listing with the local files while it is received, and deletes the paths that it names from the
// set unnamed. It returns the cursor of the last line.
func (s *pull) readList(body io.Reader, all bool, unnamed map[string]bool) (cursor string, err error) {
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		var entry line
		if err := json.Unmarshal(lines.Bytes(), &entry); err != nil {
			return "", &linkError{fmt.Errorf("list: %w", err)}
		}
		switch {
		case entry.Cursor != "":
			return entry.Cursor, nil
		case entry.Error != "":
			return "", &linkError{errors.New("list: " + entry.Error)}
		}
		delete(unnamed, entry.Path)
		if err := s.compare(entry, all); err != nil {
			if s.failures++; s.failures <= 10 {
				s.Log.Warn("a file cannot be mirrored", "path", entry.Path, "error", err)
			}
		}
	}
	err = lines.Err()
	if err == nil {
		err = io.ErrUnexpectedEOF
	}
	return "", &linkError{fmt.Errorf("list: %w", err)}
}

// compare queues the file of a line if the local one differs, or removes the local one if the leader has removed the
// file.
func (s *pull) compare(entry line, all bool) error {
	if err := checkPath(entry.Path); err != nil {
		return err
	}
	if entry.Removed {
		s.fresh.drop(entry.Path)
		s.bulk.drop(entry.Path)
		return s.remove(entry.Path)
	}
	info, err := s.root.Lstat(entry.Path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err == nil && s.equal(entry, info) {
		return nil
	}
	s.queue(entry.Path, all)
	return nil
}

// queue adds a file that differs to one of the queues: fresh for the changes of a poll, bulk for a listing of all
// files.
func (s *pull) queue(file string, all bool) {
	switch {
	case !all && s.fresh.len() < mostFresh:
		s.bulk.drop(file)
		s.fresh.push(file)
	case s.bulk.len() < mostBulk:
		s.bulk.push(file)
	default:
		s.overflow = true
	}
}

// equal reports whether a file need not be fetched. It also compares the file's id, because two files that replaced
// each other quickly may have the same time.
func (s *pull) equal(entry line, info fs.FileInfo) bool {
	id := s.known[entry.Path]
	return info.Mode().IsRegular() && info.Size() == entry.Size && info.ModTime().UnixNano() == entry.Mtime && (id == "" || id == entry.File)
}

// remove removes a file, and the folders above it that have become empty.
func (s *pull) remove(file string) error {
	delete(s.known, file)
	if err := s.root.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for folder := path.Dir(file); folder != "." && s.removedEmpty(folder); folder = path.Dir(folder) {
	}
	return nil
}

// removedEmpty removes a folder if it is empty, and reports whether it did.
func (s *pull) removedEmpty(folder string) bool { return s.root.Remove(folder) == nil }
