package server

import (
	"cmp"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"svc"
	"svc/api"
	"svc/engine"
)

// Logs streams the log of a run. When the whole raw log is requested and is one file, range requests are supported
// too.
func (l *Live) Logs(w http.ResponseWriter, r *http.Request) {
	run, err := l.Runs.Run(r.Context(), r.PathValue("id"))
	if err != nil {
		writeError(w, r, err)
		return
	}
	q, follow, skip, err := logQuery(r.URL.Query())
	if err != nil {
		writeError(w, r, err)
		return
	}
	if err := l.fetchLogs(w, r, run, q.Attempt); err != nil {
		writeError(w, r, err)
		return
	}
	var short error // set when a followed log ends incomplete
	out := newPaced(w, cmp.Or(l.stall, writeLimit))
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	if follow {
		q.Follow = func() (grows bool) {
			grows, short = l.Runs.LogMayGrow(r.Context(), run.ID, q.Attempt)
			return grows
		}
	} else if q.Tail < 0 && q.From == nil && skip == 0 && !q.Text && l.wholeLog(out, r, run.ID, q.Attempt) {
		return
	}
	reader, err := l.Runs.OpenLog(r.Context(), run.ID, q)
	if err != nil {
		writeError(w, r, err)
		return
	}
	defer reader.Close()
	w.Header().Set(api.HeaderLogFrom, reader.From().String())
	err = stream(out, reader, skip, follow)
	if err == nil {
		err = short
	}
	if err != nil {
		if r.Context().Err() == nil {
			noteError(r.Context(), err)
		}
		panic(http.ErrAbortHandler) // an incomplete log must not look complete
	}
}

// fetchLogs requests missing parts of the log from the hosts. A header names the attempts whose log is still
// incomplete.
func (l *Live) fetchLogs(w http.ResponseWriter, r *http.Request, run svc.Run, attempt int) error {
	short, err := l.Runs.BringLogs(r.Context(), run, attempt)
	if err != nil {
		return err
	}
	attempts := make([]string, len(short))
	for i, a := range short {
		attempts[i] = strconv.Itoa(a)
	}
	if len(attempts) > 0 {
		w.Header().Set(api.HeaderLogIncomplete, strings.Join(attempts, ", "))
	}
	return nil
}

// wholeLog serves a log that is one file. It returns false when it did not.
func (l *Live) wholeLog(w http.ResponseWriter, r *http.Request, runID string, attempt int) bool {
	f, err := l.Runs.WholeLog(runID, attempt)
	if err != nil {
		writeError(w, r, err)
		return true
	}
	if f == nil {
		return false
	}
	defer f.Close()
	// No modification time is passed: a log that grows within a second must not be treated as unchanged.
	http.ServeContent(w, r, "", time.Time{}, f)
	return true
}

// stream copies the log without the first skip bytes. With follow each part is flushed at once.
func stream(w *paced, log io.Reader, skip int64, follow bool) error {
	flush := func() error {
		if !follow {
			return nil
		}
		return w.Flush()
	}
	w.WriteHeader(http.StatusOK)
	if err := flush(); err != nil {
		return err
	}
	if _, err := io.CopyN(io.Discard, log, skip); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	b := make([]byte, 64<<10)
	for {
		n, err := log.Read(b)
		if n > 0 {
			if _, err := w.Write(b[:n]); err != nil {
				return err
			}
			if err := flush(); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// logQuery parses the parameters. Its error names those that are wrong.
func logQuery(v url.Values) (q engine.LogQuery, follow bool, skip int64, err error) {
	var bad svc.Problems
	q.Tail = -1
	if s := v.Get("follow"); s != "" {
		if follow, err = strconv.ParseBool(s); err != nil {
			bad.Add("follow", "must be true or false")
		}
	}
	if s := v.Get("tail"); s != "" {
		if q.Tail, err = strconv.Atoi(s); err != nil || q.Tail < 0 {
			bad.Add("tail", "must be a number of lines")
		}
	}
	if s := v.Get("attempt"); s != "" {
		if q.Attempt, err = strconv.Atoi(s); err != nil || q.Attempt < 1 {
			bad.Add("attempt", "must be the number of an attempt, from 1")
		}
	}
	if s := v.Get("from"); s != "" {
		place, ok := engine.ParseLogPlace(s)
		if q.From = &place; !ok {
			bad.Add("from", "must be an attempt and a byte of its log, such as 2:4096")
		}
	}
	if s := v.Get("skip"); s != "" {
		if skip, err = strconv.ParseInt(s, 10, 64); err != nil || skip < 0 {
			bad.Add("skip", "must be a number of bytes")
		}
	}
	switch v.Get("format") {
	case "", "raw":
	case "text":
		q.Text = true
	default:
		bad.Add("format", "must be raw or text")
	}
	return q, follow, skip, bad.Err()
}
