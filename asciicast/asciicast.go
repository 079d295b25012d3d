// Package asciicast writes and reads recordings of terminals in the format asciicast v2: a header, then a line of JSON for
// each event, in the order of their times. What is in between, and where it comes from, is the caller's.
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
	Timestamp int64  `json:"timestamp,omitempty"` // when it began, in seconds since 1970; 0: not known
	Title     string `json:"title,omitempty"`
}

// Kind is what an event is about.
type Kind string

// The kinds that are written. A reader may meet others, and passes them over.
const (
	Output Kind = "o" // what the terminal got
	Resize Kind = "r" // its new size: Size
	Marker Kind = "m" // a label of this moment
)

// Event is one line after the header.
type Event struct {
	At   time.Duration // since the beginning, in whole milliseconds when written
	Kind Kind
	Data string
}

// Size is the data of a Resize.
func Size(cols, rows int) string { return strconv.Itoa(cols) + "x" + strconv.Itoa(rows) }

// ParseSize reads it.
func ParseSize(data string) (cols, rows int, ok bool) {
	c, r, _ := strings.Cut(data, "x")
	cols, err := strconv.Atoi(c)
	rows, errRows := strconv.Atoi(r)
	return cols, rows, err == nil && errRows == nil && cols > 0 && rows > 0
}

// Writer writes a recording, a line at a time.
type Writer struct {
	to   io.Writer
	line bytes.Buffer
}

// NewWriter begins a recording with its header.
func NewWriter(to io.Writer, h Header) (*Writer, error) {
	w := &Writer{to: to}
	h.Version = 2
	return w, w.write(h)
}

// Write adds an event. What is not valid UTF-8 in its data becomes U+FFFD, byte by byte.
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

// maxLine bounds a line that is read, in bytes.
const maxLine = 16 << 20

// NewReader reads the header.
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

// Next is the next event; no event is before the one before it. It ends with io.EOF.
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

// line is the next line that is not empty, without its end.
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
