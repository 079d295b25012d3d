// Package asciicast writes and reads recordings of terminals in the format asciicast v2: a header, then one line of
// JSON for each event, ordered by time. The content of the events is up to the caller.
package asciicast

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
)

// MediaType is the content type of a recording.
const MediaType = "application/x-asciicast"

// Header is the first line.
type Header struct {
	Version   int    `json:"version"`             // 2
	Width     int    `json:"width"`               // columns
	Height    int    `json:"height"`              // rows
	Timestamp int64  `json:"timestamp,omitempty"` // start time in seconds since 1970; 0: not known
	Title     string `json:"title,omitempty"`
}

// Kind is the kind of an event.
type Kind string

// The kinds that are written. Readers must ignore other kinds.
const (
	Output Kind = "o" // output that was written to the terminal
	Resize Kind = "r" // a new size of the terminal, in the form of Size
	Marker Kind = "m" // a label for this point in time
)

// Event is one line of the recording after the header.
type Event struct {
	At   time.Duration // time since the start; written in whole milliseconds
	Kind Kind
	Data string
}

// Size returns the data of a Resize event.
func Size(cols, rows int) string { return strconv.Itoa(cols) + "x" + strconv.Itoa(rows) }

// ParseSize parses the data of a Resize event.
func ParseSize(data string) (cols, rows int, ok bool) {
	c, r, _ := strings.Cut(data, "x")
	cols, err := strconv.Atoi(c)
	rows, errRows := strconv.Atoi(r)
	return cols, rows, err == nil && errRows == nil && cols > 0 && rows > 0
}

// Writer writes a recording line by line.
type Writer struct {
	to   io.Writer
	line bytes.Buffer
}

// NewWriter starts a recording and writes its header.
func NewWriter(to io.Writer, h Header) (*Writer, error) {
	w := &Writer{to: to}
	h.Version = 2
	return w, w.write(h)
}

// Write writes an event. Each byte of its data that is not valid UTF-8 becomes U+FFFD.
func (w *Writer) Write(e Event) error {
	ms := e.At.Milliseconds()
	return w.write([]any{json.RawMessage(fmt.Sprintf("%d.%03d", ms/1000, ms%1000)), e.Kind, e.Data})
}

func (w *Writer) write(line any) error {
	w.line.Reset()
	encoder := json.NewEncoder(&w.line)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(line); err != nil {
		return err
	}
	_, err := w.to.Write(w.line.Bytes())
	return err
}

// Reader reads a recording. Header is its first line.
type Reader struct {
	Header Header
	from   *bufio.Reader
	last   time.Duration
}

// maxLine limits the length of a line in bytes.
const maxLine = 16 << 20

// NewReader reads the header and returns a Reader for the events.
func NewReader(from io.Reader) (*Reader, error) {
	r := &Reader{from: bufio.NewReaderSize(from, 64<<10)}
	line, err := r.line()
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	if err == nil {
		err = json.Unmarshal(line, &r.Header)
	}
	if err == nil && (r.Header.Version != 2 || r.Header.Width < 1 || r.Header.Height < 1) {
		err = errors.New("its first line is not the header of an asciicast v2")
	}
	if err != nil {
		return nil, fmt.Errorf("read recording: %w", err)
	}
	return r, nil
}

// Next returns the next event, or io.EOF at the end. A time that is earlier than that of the event before it is
// raised to that time.
func (r *Reader) Next() (Event, error) {
	line, err := r.line()
	if errors.Is(err, io.EOF) {
		return Event{}, io.EOF
	}
	if err != nil {
		return Event{}, fmt.Errorf("read recording: %w", err)
	}
	var e Event
	var seconds float64
	fields := []any{&seconds, &e.Kind, &e.Data}
	if err := json.Unmarshal(line, &fields); err != nil || len(fields) < 3 || seconds < 0 || seconds > math.MaxInt64/float64(time.Second) {
		return Event{}, fmt.Errorf("read recording: %.60q is not an event", line)
	}
	e.At = max(time.Duration(math.Round(seconds*1000))*time.Millisecond, r.last)
	r.last = e.At
	return e, nil
}

// line returns the next line that is not empty, without surrounding white space.
func (r *Reader) line() ([]byte, error) {
	for {
		var line []byte
		for {
			part, err := r.from.ReadSlice('\n')
			line = append(line, part...)
			if err == nil {
				break
			}
			if errors.Is(err, io.EOF) && len(line) > 0 {
				break
			}
			if !errors.Is(err, bufio.ErrBufferFull) {
				return nil, err
			}
			if len(line) > maxLine {
				return nil, fmt.Errorf("a line has more than %d bytes", maxLine)
			}
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			return line, nil
		}
	}
}
