package hub

import (
	"fmt"
	"os"
)

// cutBy is which bound ended a log before its end.
type cutBy string

// The bounds.
const (
	cutByAttempt cutBy = "attempt"
	cutByHost    cutBy = "host"
)

// notice is the last line of a log that was cut: whoever reads it sees where and why.
func (c cutBy) notice(at int64) string {
	setting := "relay_max_bytes"
	if c == cutByHost {
		setting = "relay_host_max_bytes"
	}
	return fmt.Sprintf("\r\n[svc: the orchestrator's copy of this log was cut here, after %d bytes, by [retention] %s; the rest stays on its host]\r\n", at, setting)
}

// logEnd is what is noted of the end of an attempt's log.
type logEnd struct {
	length int64 // its final length, of a log that was cut without the notice; noEnd: not known
	cut    cutBy // empty: it was not cut
}

// whole reports whether a log with this many bytes takes nothing more.
func (e logEnd) whole(size int64) bool { return e.cut != "" || e.length != noEnd && size >= e.length }

// at is what the note says of a copy with this many bytes. A cut counts only for a copy that reaches it: one that is shorter, as of an
// orchestrator that took over, lacks the bytes up to the cut, and workers send them again.
func (e logEnd) at(size int64) logEnd {
	if e.cut != "" && size < e.length {
		return logEnd{length: noEnd}
	}
	return e
}

// cut ends a log at its present size, for good. The intent is noted before the notice is written: after a crash between the two, open
// writes it again. The caller holds the lock for writes.
func (l *runLog) cut(dir relayDir, at int64, by cutBy) error {
	end := logEnd{length: at, cut: by}
	if err := dir.writeEnd(l.runID, l.attempt, end); err != nil {
		return err
	}
	l.end = end
	return l.writeNotice()
}

// writeNotice makes the notice the end of the file.
func (l *runLog) writeNotice() error {
	info, err := l.file.Stat()
	if err != nil {
		return err
	}
	notice := l.end.cut.notice(l.end.length)
	if info.Size() == l.end.length+int64(len(notice)) {
		return nil
	}
	if info.Size() > l.end.length {
		if err := os.Truncate(l.file.Name(), l.end.length); err != nil {
			return err
		}
	}
	_, err = l.file.WriteString(notice)
	return err
}
