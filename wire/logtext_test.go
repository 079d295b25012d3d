package wire

import (
	"encoding/json"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzLogText checks that texts are decoded as the JSON package decodes them.
func FuzzLogText(f *testing.F) {
	for _, s := range []string{
		`""`, `"plain"`, `"\n\r\t\b\f\"\\\/"`, `"a\u0041\u00e9\u20ac"`, `"\ud83d\ude00"`, `"\ud83d"`, `"\ude00\ud83d"`, `"\ud83dx"`, `"\ud83d\n"`,
		`"\ud83d\u0041"`, `"\u0000\u001b[0m"`, `"größe 界"`, `null`, `1`, `["x"]`, `"\uFFFD\ufffd"`, `"\\u0041"`, `"\u005cu0041"`, `"open`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if !utf8.Valid(b) {
			return // frames are valid UTF-8
		}
		var want string
		wantErr := json.Unmarshal(b, &want)
		var got LogText
		err := json.Unmarshal(b, &got)
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("%q: error %v, want %v", b, err, wantErr)
		}
		if err == nil && string(got) != want {
			t.Fatalf("%q became %q, want %q", b, got, want)
		}
	})
}

// FuzzLogChunk decodes frames with the usual beginning with both decoders.
func FuzzLogChunk(f *testing.F) {
	for _, s := range []string{
		`a line\n","timestamp":1}`, `","timestamp":1,"attempt":2,"offset":0,"bytes":5}`, `x","text":"y"}`, `x","text":""}`, `x","text":null}`,
		`x","Text":"z","data":"/w=="}`, `x"`, `x"}}`, `x"} `, `x",}`, `x\`, `x\u12`, `x\q"}`, "x\n\"}", `x","run_id":"y"}`, `x","offset":-1,"attempt":1}`, `x",
		"bytes":"many"}`, `\ud83d\ude00\ud83d"}`, `x","type":"heartbeat"}`,
		`x","times":[[0,0],[5,1,80,24]]}`, `x","times":[[0]]}`, `x","times":[null]}`, `x","times":null}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, tail []byte) {
		b := append([]byte(chunkBegins+runID+textBegins), tail...)
		if !utf8.Valid(b) {
			return // it is refused before decoding
		}
		var got, want LogChunk
		taken := got.take(b)
		err := json.Unmarshal(b, &want)
		if taken && err != nil {
			t.Fatalf("%q was taken, though %v", b, err)
		}
		if !taken && err == nil {
			t.Fatalf("%q was not taken", b)
		}
		if taken && !reflect.DeepEqual(got, want) {
			t.Fatalf("%q is %+v, want %+v", b, got, want)
		}
	})
}

func TestTheMemoryOfALogIsUsedAgain(t *testing.T) {
	// Not parallel, because it measures allocations.
	offset := int64(0)
	raw, err := Encode(LogChunk{RunID: runID, Text: LogText(strings.Repeat("a line of a log\n", 4000)), Timestamp: at, Attempt: 1, Offset: &offset})
	if err != nil {
		t.Fatal(err)
	}
	const chunks = 200
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range chunks {
		f, err := DecodeUp(raw)
		if err != nil {
			t.Fatal(err)
		}
		f.(*LogChunk).Release()
	}
	runtime.ReadMemStats(&after)
	// With the race detector the pool drops some buffers. Without reuse there would be a copy of each chunk.
	if each := (after.TotalAlloc - before.TotalAlloc) / chunks; each > uint64(len(raw)/2) {
		t.Errorf("a chunk of %d bytes leaves %d bytes of garbage", len(raw), each)
	}
}

func TestATextIsOnesOwnUntilItIsReleased(t *testing.T) {
	t.Parallel()
	decode := func(text string) *LogChunk {
		b, err := Encode(LogChunk{RunID: runID, Text: LogText(text), Timestamp: at})
		if err != nil {
			t.Fatal(err)
		}
		f, err := DecodeUp(b)
		if err != nil {
			t.Fatal(err)
		}
		clear(b) // the reader's buffer is reused
		return f.(*LogChunk)
	}
	first := decode("one\n")
	second := decode("two\r\n")
	if string(first.Text) != "one\n" || string(second.Text) != "two\r\n" {
		t.Errorf("texts are %q and %q", first.Text, second.Text)
	}
	first.Release()
	first.Release() // there is no memory left to release
	third, fourth := decode("three"), decode("four")
	if string(second.Text) != "two\r\n" || string(third.Text) != "three" || string(fourth.Text) != "four" {
		t.Errorf("texts are %q, %q and %q", second.Text, third.Text, fourth.Text)
	}
}

func TestChunksEndAtWholeCharacters(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, want string }{
		{"abc", "abc"},
		{"ab\xc3", "ab"},
		{"ab\xc3\xa9", "ab\xc3\xa9"},
		{"\xf0\x9f\x8c", ""},
		{"a\xf0\x9f", "a"},
		{"a\xff", "a\xff"},         // can never become a character
		{"a\x80\x80", "a\x80\x80"}, // nor can this
		{"", ""},
	} {
		if got := string(WholeCharacters([]byte(c.in))); got != c.want {
			t.Errorf("WholeCharacters(%q) = %q, want %q", c.in, got, c.want)
		}
	}
}
