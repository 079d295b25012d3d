package hub

import (
	"fmt"
	"os"
)

// cutBy is the limit at which a log was cut.
type cutBy string

// The limits.
const (
	cutByAttempt cutBy = "attempt"
	cutByHost    cutBy = "host"
)

// notice returns the last line of a log that was cut. It states where and why.
func (c cutBy) notice(at int64) string {
	setting := "relay_max_bytes"
	if c == cutByHost {
		setting = "relay_host_max_bytes"
	}
	return fmt.Sprintf("\r\n[svc: the orchestrator's copy of this log was cut here, after %d bytes, by [retention] %s; the rest stays on its host]\r\n", at, setting)
}

// logEnd is the stored information about the end of an attempt's log.
type logEnd struct {
	length int64 // the final length; of a log that was cut, its length without the notice; noEnd: not known
	cut    cutBy // empty: it was not cut
}

// whole reports whether a log of this size accepts nothing more.
func (e logEnd) whole(size int64) bool { return e.cut != "" || e.length != noEnd && size >= e.length }

// at returns what e means for a copy of this size. A cut applies only to a copy that reaches it. A shorter copy, as
// an orchestrator that took over may have, lacks bytes before the cut, and the workers send them again.
func (e logEnd) at(size int64) logEnd {
	if e.cut != "" && size < e.length {
		return logEnd{length: noEnd}
	}
	return e
}

// cut ends a log permanently at its present size. The cut is recorded before the notice is written; after a crash
// between the two, open writes the notice again. The caller holds l.writing.
func (l *runLog) cut(dir relayDir, at int64, by cutBy) error {
	end := logEnd{length: at, cut: by}
	if err := dir.writeEnd(l.runID, l.attempt, end); err != nil {
		return err
	}
	l.end = end
	return l.writeNotice()
}

// writeNotice ensures that the file ends with the notice.
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
