package wire

import (
	"bytes"
	"encoding/json"
	"strconv"
	"sync"
	"unicode/utf16"
	"unicode/utf8"

	"svc"
)

// LogText is the text of a log chunk. Most of what an uplink carries is logs, and collecting their garbage
// would delay the keys on the same uplink. So the memory of texts is reused, and escapes are decoded here:
// the JSON package would copy each text twice.
type LogText []byte

// keptText is the largest text whose memory is reused.
const keptText = 128 << 10

// texts has the memory of released texts.
var texts = sync.Pool{New: func() any { return new([]byte) }}

// NewLogText is memory for a text of n bytes.
func NewLogText(n int) LogText {
	b := *texts.Get().(*[]byte)
	if cap(b) < n {
		b = make([]byte, n)
	}
	return b[:n]
}

// Release gives the memory of the chunk's text back. The text must not be used afterwards; a caller that
// keeps it does not call Release.
func (f *LogChunk) Release() {
	b := []byte(f.Text)
	f.Text = nil
	if n := cap(b); n > 0 && n <= keptText {
		texts.Put(&b)
	}
}

// MarshalText has the JSON package quote the text as it is.
func (t LogText) MarshalText() ([]byte, error) { return t, nil }

// UnmarshalJSON takes a JSON string. Null changes nothing.
func (t *LogText) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		return nil
	}
	if len(b) > 0 && b[0] == '"' {
		if text, rest, ok := unquote(NewLogText(len(b))[:0], b[1:]); ok && len(rest) == 0 {
			*t = text
			return nil
		}
	}
	var s string
	err := json.Unmarshal(b, &s) // its error is the usual one
	*t = LogText(s)
	return err
}

// The layout of a chunk as svc writes it: what stands before the run's id, and between the id and the text.
const (
	chunkBegins = `{"type":"log_chunk","run_id":"`
	textBegins  = `","text":"`
	runIDLength = 36
)

// take decodes a frame that has that layout: the text is copied once, and only the few bytes around it go
// through the JSON package. False means that the frame has another layout, and f is unchanged.
func (f *LogChunk) take(b []byte) bool {
	rest, ok := bytes.CutPrefix(b, []byte(chunkBegins))
	if !ok || len(rest) < runIDLength {
		return false
	}
	read := LogChunk{RunID: string(rest[:runIDLength])}
	if rest, ok = bytes.CutPrefix(rest[runIDLength:], []byte(textBegins)); !ok || !svc.IsID(read.RunID) {
		return false
	}
	text, rest, ok := unquote(NewLogText(len(rest))[:0], rest)
	if !ok || json.Unmarshal(append([]byte(`{"text":null`), rest...), &read) != nil {
		return false
	}
	if read.Text == nil { // else the frame has a second field text, which counts
		read.Text = text
	}
	*f = read
	return true
}

// unquote appends the string that begins with b, whose opening quote is gone already, and answers with
// what follows it. False means that it is not a string of valid JSON. Half of a surrogate pair becomes
// U+FFFD, as everywhere in Go.
func unquote(to, b []byte) (text, rest []byte, ok bool) {
	for {
		at := 0
		for at < len(b) && b[at] >= ' ' && b[at] != '"' && b[at] != '\\' {
			at++
		}
		to = append(to, b[:at]...)
		if at == len(b) || b[at] < ' ' {
			return nil, nil, false
		}
		if b[at] == '"' {
			return to, b[at+1:], true
		}
		if to, b, ok = unescape(to, b[at+1:]); !ok {
			return nil, nil, false
		}
	}
}

// escapes are what a letter after a backslash stands for.
var escapes = [256]byte{'n': '\n', 'r': '\r', 't': '\t', 'b': '\b', 'f': '\f', '"': '"', '\\': '\\', '/': '/'}

// unescape appends what the escape that b begins with stands for, without its backslash.
func unescape(to, b []byte) (text, rest []byte, ok bool) {
	if len(b) == 0 {
		return nil, nil, false
	}
	if c := escapes[b[0]]; c != 0 {
		return append(to, c), b[1:], true
	}
	r, ok := codeUnit(b)
	if !ok {
		return nil, nil, false
	}
	b = b[5:]
	if utf16.IsSurrogate(r) {
		low := rune(utf8.RuneError)
		if len(b) > 0 && b[0] == '\\' {
			low, _ = codeUnit(b[1:])
		}
		if r = utf16.DecodeRune(r, low); r != utf8.RuneError {
			b = b[6:]
		}
	}
	return utf8.AppendRune(to, r), b, true
}

// codeUnit reads a u and four digits.
func codeUnit(b []byte) (rune, bool) {
	if len(b) < 5 || b[0] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(b[1:5]), 16, 16)
	return rune(n), err == nil
}

// WholeCharacters cuts off an incomplete character at the end. Bytes that can
// never become a character stay.
func WholeCharacters(raw []byte) []byte {
	for back := 1; back <= min(utf8.UTFMax-1, len(raw)); back++ {
		at := len(raw) - back
		if !utf8.RuneStart(raw[at]) {
			continue
		}
		if !utf8.FullRune(raw[at:]) {
			return raw[:at]
		}
		break
	}
	return raw
}
