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
	"os"
	"path"
	"strconv"
	"syscall"
	"time"
)

const (
	mostSlice    = 16 << 20 // bytes of a file in one answer
	listBatch    = 512      // entries of a folder that are read at once
	writeTimeout = 30 * time.Second
)

// Source serves the files of a folder to [Puller]s: GET /mirror/list and GET /mirror/file. It does not authenticate
// requests: the server that mounts it must do so.
type Source struct {
	dir     string
	changes *changes
	mux     *http.ServeMux
}

// NewSource returns a Source for the files below dir, which need not exist yet.
func NewSource(dir string) *Source {
	s := &Source{dir: dir, changes: newChanges(mostChanges), mux: http.NewServeMux()}
	s.mux.HandleFunc("GET "+listPath, s.list)
	s.mux.HandleFunc("GET "+filePath, s.file)
	return s
}

// Written reports that a file was written: followers fetch it with their next poll. The path is relative to the folder. Call it after the write.
func (s *Source) Written(path string) { s.changes.report(path, false) }

// Removed reports that a file was removed on purpose: followers remove their copies.
func (s *Source) Removed(path string) { s.changes.report(path, true) }

func (s *Source) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set(headerSource, s.changes.id)
	s.mux.ServeHTTP(w, r)
}

// list answers with the files that were reported after the cursor "since", or with all files if there is no cursor or
// it is not valid.
func (s *Source) list(w http.ResponseWriter, r *http.Request) {
	l := lister{w: w, out: bufio.NewWriterSize(w, 32<<10)}
	l.encoder = json.NewEncoder(l.out)
	w.Header().Set("Content-Type", "application/jsonl")
	changed, cursor, known := s.changes.since(r.URL.Query().Get("since"))
	w.Header().Set(headerScope, scopeChanges)
	if !known {
		w.Header().Set(headerScope, scopeAll)
		cursor = s.changes.cursor() // before the walk: a change during the walk is in the next listing
	}
	root, err := os.OpenRoot(s.dir)
	switch {
	case errors.Is(err, fs.ErrNotExist): // the folder does not exist yet
	case err != nil:
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	case known:
		l.root = root
		err = l.changes(changed)
	default:
		l.root = root
		err = l.walk(".", 0)
	}
	if root != nil {
		_ = root.Close() // only read from
	}
	end := line{Cursor: cursor}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		end = line{Error: err.Error()}
	}
	_ = l.encoder.Encode(end) // an error means that the connection is closed
	_ = l.flush()
}

// lister writes a listing in bounded memory.
type lister struct {
	w       http.ResponseWriter
	out     *bufio.Writer
	encoder *json.Encoder
	root    *os.Root
	count   int
}

func (l *lister) flush() error {
	// Not every ResponseWriter supports deadlines. Then the server's own limits apply.
	_ = http.NewResponseController(l.w).SetWriteDeadline(time.Now().Add(writeTimeout))
	return l.out.Flush()
}

// errNoFile means that a name is not that of a regular file.
var errNoFile = errors.New("not a regular file")

// lineOf returns the line of a file.
func (l *lister) lineOf(file string) (line, error) {
	info, err := l.root.Lstat(file)
	if err == nil && !info.Mode().IsRegular() {
		err = errNoFile
	}
	if err != nil {
		return line{}, err
	}
	return line{Path: file, Size: info.Size(), Mtime: info.ModTime().UnixNano(), File: fileID(info)}, nil
}

func (l *lister) write(entry line) error {
	if l.count++; l.count%listBatch == 0 {
		if err := l.flush(); err != nil {
			return err
		}
	}
	return l.encoder.Encode(entry)
}

func (l *lister) changes(changed []change) error {
	for _, c := range changed {
		if checkPath(c.path) != nil {
			continue
		}
		entry, err := l.lineOf(c.path)
		switch {
		case errors.Is(err, fs.ErrNotExist) && c.removed:
			entry = line{Path: c.path, Removed: true}
		case err != nil:
			continue // the listing of all files has this file, or reports the error
		}
		if err := l.write(entry); err != nil {
			return err
		}
	}
	return nil
}

// listFile writes the line of a file of a folder that is being read. It skips a file that was removed meanwhile.
func (l *lister) listFile(file string) error {
	entry, err := l.lineOf(file)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errNoFile) {
		return nil // removed meanwhile
	}
	if err != nil {
		return err
	}
	return l.write(entry)
}

// walk lists the files of a folder and of the folders below it, in no order.
func (l *lister) walk(folder string, depth int) error {
	d, err := l.root.Open(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // removed meanwhile
	}
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }() // only read from
	for {
		entries, err := d.ReadDir(listBatch)
		for _, e := range entries {
			name := path.Join(folder, e.Name())
			switch {
			case e.IsDir() && plain(e.Name()) && depth+1 < maxDepth:
				if err := l.walk(name, depth+1); err != nil {
					return err
				}
			case e.Type().IsRegular() && checkPath(name) == nil:
				if err := l.listFile(name); err != nil {
					return err
				}
			}
		}
		if errors.Is(err, io.EOF) || errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// file answers with at most "limit" bytes of a file, from the offset "from" on. The answer is a 409 if the file is
// shorter than the offset, if the hash of the last "check" bytes before the offset is not "sum", or if the file's id
// is not "file" (when that is not empty). The headers describe the file in both cases.
func (s *Source) file(w http.ResponseWriter, r *http.Request) {
	q, err := parseFileQuery(r.URL.Query())
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	f, info, err := s.open(q.path)
	if errors.Is(err, fs.ErrNotExist) {
		http.Error(w, "there is no such file", http.StatusNotFound)
		return
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	defer func() { _ = f.Close() }() // only read from
	h := w.Header()
	h.Set(headerSize, strconv.FormatInt(info.Size(), 10))
	h.Set(headerMtime, strconv.FormatInt(info.ModTime().UnixNano(), 10))
	h.Set(headerFile, fileID(info))
	same, err := q.matches(r.Context(), f, info)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	if !same {
		http.Error(w, "the file differs", http.StatusConflict)
		return
	}
	n := min(info.Size()-q.from, q.limit)
	h.Set("Content-Type", "application/octet-stream")
	h.Set("Content-Length", strconv.FormatInt(n, 10))
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(2 * writeTimeout)) // not every ResponseWriter supports deadlines
	_, _ = io.Copy(w, io.NewSectionReader(f, q.from, n))                                 // the caller detects missing bytes by Content-Length
}

// open opens a regular file. It does not follow symbolic links.
func (s *Source) open(file string) (*os.File, fs.FileInfo, error) {
	root, err := os.OpenRoot(s.dir)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = root.Close() }() // only read from
	f, err := root.OpenFile(file, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errNoFile
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, info, nil
}

// fileID returns an id that differs for two files that exist at the same time, such as a file and the one that
// replaces it by a rename.
func fileID(info fs.FileInfo) string {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return strconv.FormatUint(stat.Ino, 16)
	}
	return "0"
}

type fileQuery struct {
	path        string
	from, limit int64
	check       int64  // bytes before from
	sum, id     string // empty: not compared
}

func parseFileQuery(v url.Values) (q fileQuery, err error) {
	q = fileQuery{path: v.Get("path"), limit: mostSlice, sum: v.Get("sum"), id: v.Get("file")}
	if err := checkPath(q.path); err != nil {
		return q, err
	}
	for name, number := range map[string]*int64{"from": &q.from, "limit": &q.limit, "check": &q.check} {
		if text := v.Get(name); text != "" {
			if *number, err = strconv.ParseInt(text, 10, 64); err != nil || *number < 0 {
				return q, fmt.Errorf("%s is not a number of bytes", name)
			}
		}
	}
	if q.check > q.from {
		return q, errors.New("check is more than from")
	}
	q.limit = min(q.limit, mostSlice)
	return q, nil
}

// matches reports whether the file begins with the bytes that the caller has: see Source.file.
func (q fileQuery) matches(ctx context.Context, f *os.File, info fs.FileInfo) (bool, error) {
	if q.from > info.Size() || q.id != "" && q.id != fileID(info) {
		return false, nil
	}
	if q.check == 0 {
		return true, nil
	}
	sum, err := sumBefore(ctx, f, q.from, q.check)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return false, nil // the file was truncated meanwhile
	}
	return sum == q.sum, err
}
