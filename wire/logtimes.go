package wire

import (
	"bytes"
	"encoding/json"
	"strconv"
)

// LogTime is the time at which a byte of an attempt's log was written. It also applies to the following bytes, up to
// the next LogTime.
//
// It is encoded as numbers in the order of the fields: as an array on the uplink, as a line in a file. There are two
// numbers, or four when the size of the terminal changed, or five at the beginning of an attempt. A reader ignores
// further numbers.
type LogTime struct {
	Ms     int64 // milliseconds since the attempt's start, by its host's clock
	Offset int64 // from the attempt's first byte
	// Cols and Rows are the size of the terminal from this byte on; 0: unchanged.
	Cols, Rows int
	// At is the host's time at the attempt's start, in milliseconds since 1970; 0 in all except the first LogTime.
	At int64
}

// The limits of times.
const (
	MaxTimes     = 4096     // per log_chunk
	MaxTimesFile = 16 << 20 // bytes of lines per attempt, on either side
	maxSide      = 10_000   // columns or rows
	maxMs        = 1 << 43  // more than two centuries, and still in the range of time.Duration
)

// AppendLine appends the time as a line of a file.
func (t LogTime) AppendLine(b []byte) []byte { return append(t.appendTo(b, ' '), '\n') }

func (t LogTime) appendTo(b []byte, separator byte) []byte {
	numbers := []int64{t.Ms, t.Offset, int64(t.Cols), int64(t.Rows), t.At}
	switch {
	case t.Cols == 0:
		numbers = numbers[:2]
	case t.At == 0:
		numbers = numbers[:4]
	}
	for i, n := range numbers {
		if i > 0 {
			b = append(b, separator)
		}
		b = strconv.AppendInt(b, n, 10)
	}
	return b
}

// ParseLogTime parses a line without its line end. It returns false for an invalid line, for example one that a crash
// cut short.
func ParseLogTime(line []byte) (LogTime, bool) {
	var numbers []int64
	for _, word := range bytes.Fields(line) {
		n, err := strconv.ParseInt(string(word), 10, 64)
		if err != nil {
			return LogTime{}, false
		}
		numbers = append(numbers, n)
	}
	return logTimeOf(numbers)
}

func logTimeOf(numbers []int64) (t LogTime, ok bool) {
	if len(numbers) < 2 {
		return t, false
	}
	for _, n := range numbers {
		if n < 0 {
			return t, false
		}
	}
	if numbers[0] > maxMs {
		return t, false
	}
	t.Ms, t.Offset = numbers[0], numbers[1]
	if len(numbers) < 4 {
		return t, true
	}
	cols, rows := numbers[2], numbers[3]
	if cols < 1 || cols > maxSide || rows < 1 || rows > maxSide {
		return LogTime{}, false
	}
	t.Cols, t.Rows = int(cols), int(rows)
	if len(numbers) > 4 {
		t.At = numbers[4]
	}
	return t, true
}

// MarshalJSON returns the array of numbers.
func (t LogTime) MarshalJSON() ([]byte, error) { return append(t.appendTo([]byte{'['}, ','), ']'), nil }

// UnmarshalJSON parses the array of numbers.
func (t *LogTime) UnmarshalJSON(b []byte) error {
	var numbers []int64
	if err := json.Unmarshal(b, &numbers); err != nil {
		return err
	}
	var ok bool
	if *t, ok = logTimeOf(numbers); !ok {
		return malformed("times: %.60s is not [ms, offset] or [ms, offset, cols, rows]", b)
	}
	return nil
}

// LogTimes are the times of a chunk, in order.
type LogTimes []LogTime

// UnmarshalJSON refuses more than MaxTimes before it allocates memory for them.
func (l *LogTimes) UnmarshalJSON(b []byte) error {
	if err := checkCount("log_chunk", "times", bytes.Count(b, []byte("["))-1, MaxTimes); err != nil {
		return err
	}
	return json.Unmarshal(b, (*[]LogTime)(l))
}
