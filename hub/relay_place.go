package hub

import (
	"fmt"
	"strconv"
	"strings"
)

// LogPlace is a place in a run's log: a byte of one attempt's raw log. The zero value is the beginning of all.
type LogPlace struct {
	Attempt int
	Offset  int64
}

// String is the place as it is sent.
func (p LogPlace) String() string { return fmt.Sprintf("%d:%d", p.Attempt, p.Offset) }

// mostOffset is more than any log has.
const mostOffset = 1 << 50

// ParseLogPlace reads what String wrote.
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

// startAt leaves out what lies before a place. A place after what is there is waited for.
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

// From is where the reader began: the same query from there gives the same bytes again.
func (lr *LogReader) From() LogPlace { return lr.from }
