package hub

import (
	"fmt"
	"strconv"
	"strings"
)

// LogPlace is a position in a run's log: a byte of one attempt's raw log. The zero value is the beginning.
type LogPlace struct {
	Attempt int
	Offset  int64
}

// String returns the position in the form in which it is sent.
func (p LogPlace) String() string { return fmt.Sprintf("%d:%d", p.Attempt, p.Offset) }

// mostOffset is larger than any log.
const mostOffset = 1 << 50

// ParseLogPlace parses the form of String.
func ParseLogPlace(text string) (p LogPlace, ok bool) {
	attempt, offset, found := strings.Cut(text, ":")
	if !found {
		return p, false
	}
	a, err := strconv.Atoi(attempt)
	if err != nil || a < 0 {
		return p, false
	}
	o, err := strconv.ParseInt(offset, 10, 64)
	return LogPlace{a, o}, err == nil && o >= 0 && o <= mostOffset
}

// startAt removes everything before a position. A position after the end of the stored log is kept, and the reader
// waits for its bytes.
func startAt(spans []span, at LogPlace) []span {
	for len(spans) > 0 && spans[0].attempt < at.Attempt {
		spans = spans[1:]
	}
	if len(spans) > 0 && spans[0].attempt == at.Attempt {
		spans[0].from = at.Offset
		spans[0].to = max(spans[0].to, at.Offset)
	}
	return spans
}

// From returns the position at which the reader began. The same query from there returns the same bytes.
func (lr *LogReader) From() LogPlace { return lr.from }
