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

// LogText is the text of a log chunk. Most traffic on an uplink is logs, and the garbage collection for them would
// delay the keys on the same uplink. So the memory of texts is reused, and escapes are decoded here, because the JSON
// package would copy each text twice.
type LogText []byte

// keptText is the size of the largest text whose memory is reused, in bytes.
const keptText = 128 << 10

// texts holds the memory of released texts.
var texts = sync.Pool{New: func() any { return new([]byte) }}

// NewLogText returns memory for a text of n bytes.
func NewLogText(n int) LogText {
	b := *texts.Get().(*[]byte)
	if cap(b) < n {
		b = make([]byte, n)
	}
	return b[:n]
}

// Release makes the memory of the chunk's text available for reuse. The text must not be used afterwards. A caller
// that keeps the text must not call Release.
func (f *LogChunk) Release() {
	b := []byte(f.Text)
	f.Text = nil
	if n := cap(b); n > 0 && n <= keptText {
		texts.Put(&b)
	}
}

// MarshalText returns the text unchanged, so that the JSON package quotes it.
func (t LogText) MarshalText() ([]byte, error) { return t, nil }

// UnmarshalJSON decodes a JSON string. Null changes nothing.
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
	err := json.Unmarshal(b, &s) // for the usual error
	*t = LogText(s)
	return err
}

// The layout of a chunk as svc encodes it: the bytes before the run's id, and those between the id and the text.
const (
	chunkBegins = `{"type":"log_chunk","run_id":"`
	textBegins  = `","text":"`
	runIDLength = 36
)

// take decodes a frame that has this layout. It copies the text once and passes only the few other bytes to the JSON
// package. It returns false, and leaves f unchanged, when the frame has another layout.
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
	if read.Text == nil { // otherwise the frame has a second field text, which takes precedence
		read.Text = text
	}
	*f = read
	return true
}

// unquote appends the decoded string at the beginning of b, whose opening quote was already removed, and returns what
// follows the string. ok is false when it is not a valid JSON string. Half of a surrogate pair becomes U+FFFD, as
// everywhere in Go.
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

// escapes maps the letter after a backslash to its character.
var escapes = [256]byte{'n': '\n', 'r': '\r', 't': '\t', 'b': '\b', 'f': '\f', '"': '"', '\\': '\\', '/': '/'}

// unescape appends the character of the escape at the beginning of b, which comes without its backslash.
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

// codeUnit parses a u and four hexadecimal digits.
func codeUnit(b []byte) (rune, bool) {
	if len(b) < 5 || b[0] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(b[1:5]), 16, 16)
	return rune(n), err == nil
}

// WholeCharacters removes an incomplete character at the end. Bytes that can never become a character are kept.
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
