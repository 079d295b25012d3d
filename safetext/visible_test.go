package safetext_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"svc/safetext"
)

func TestAFieldShowsWhatItHides(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ raw, line, lines string }{
		{"plain", "plain", "plain"},
		{"a\nb\tc\r\nd", "a b c  d", "a\nb\tc\nd"},
		{"\x1b]52;c;eA==\a", "␛]52;c;eA==␇", "␛]52;c;eA==␇"},
		{"\x00\x7f\u009b2J\u0085", "␀␡<U+009B>2J<U+0085>", "␀␡<U+009B>2J<U+0085>"},
		{"a\rb", "a b", "a␍b"},
		{"\u202egpj.exe\u2066\u2069\u200f", "<U+202E>gpj.exe<U+2066><U+2069><U+200F>", "<U+202E>gpj.exe<U+2066><U+2069><U+200F>"},
		{"ad\u200bmin\ufeff\u00ad\u2060\u3164\u034f", "ad<U+200B>min<U+FEFF><U+00AD><U+2060><U+3164><U+034F>", "ad<U+200B>min<U+FEFF><U+00AD><U+2060><U+3164><U+034F>"},
		{"\U000e0041tag", "<U+E0041>tag", "<U+E0041>tag"},
		{"a\u200db", "a<U+200D>b", "a<U+200D>b"},
		{"👩\u200d💻 ❤️ 🏴\U000e0067\U000e007f é e\u0301", "👩\u200d💻 ❤️ 🏴\U000e0067\U000e007f é e\u0301", "👩\u200d💻 ❤️ 🏴\U000e0067\U000e007f é e\u0301"},
		{"می\u200cخواهم שלום", "می\u200cخواهم שלום", "می\u200cخواهم שלום"},
		{"a\xff\x9bb", "a\ufffd\ufffdb", "a\ufffd\ufffdb"},
	} {
		if got := string(safetext.Line(c.raw)); got != c.line {
			t.Errorf("the line of %q is %q, want %q", c.raw, got, c.line)
		}
		if got := string(safetext.Lines(c.raw)); got != c.lines {
			t.Errorf("the lines of %q are %q, want %q", c.raw, got, c.lines)
		}
	}
}

func TestJSONKeepsItsValues(t *testing.T) {
	t.Parallel()
	want := []any{"a\u202eb\u009b\x7f\U000e0041é👩\u200d💻", "\x1b]52;\a\n"}
	b, err := json.MarshalIndent(want, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	safe := safetext.JSON(b)
	if got := string(safe); got != "[\n  \"a\\u202eb\\u009b\\u007f\\udb40\\udc41é👩\\u200d💻\",\n  \"\\u001b]52;\\u0007\\n\"\n]" {
		t.Errorf("the text is %s", got)
	}
	var got []any
	if err := json.Unmarshal(safe, &got); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("the values are %q (%v), want %q", got, err, want)
	}
}
