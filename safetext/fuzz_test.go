package safetext_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"reflect"
	"regexp"
	"slices"
	"testing"
	"unicode/utf8"

	"svc/safetext"
)

// The allowed output, defined independently of the code under test.
var (
	onlyText   = regexp.MustCompile(`^[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x{9f}]*$`)
	onlySGR    = regexp.MustCompile(`^(?:[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x{9f}]|\x1b\[[0-9;:]*m)*$`)
	onlyDraw   = regexp.MustCompile(`^(?:[^\x00-\x06\x10-\x1f\x7f-\x{9f}]|\x1b[78=>DEM]|\x1b[()][AB0]|\x1b\[(?:\?[0-9;]*[hl]|>[0-9;:]*m|[0-9;:]*(?: q|4[hl]|[@-GHI-MPSTXZ` + "`" + `abdefmrsu])))*$`)
	commanding = regexp.MustCompile("\x1b[\\]P_^X]|\x1b\\[[0-9;?>=]*[ctn]|[\u0090\u009b\u009d-\u009f]")
	unseen     = regexp.MustCompile(`[\x{ad}\x{61c}\x{200b}\x{200e}\x{200f}\x{202a}-\x{202e}\x{2060}-\x{206f}\x{feff}]`)
)

func FuzzFilter(f *testing.F) {
	for _, c := range stripped {
		f.Add([]byte(c.raw), 3)
	}
	f.Add([]byte("a\x1b]52;c;eA==\a\u009b6n\x1b[?1049h\x1bPtmux;\x1b\x1b[c\x1b\\\xc2"), 1)
	f.Fuzz(func(t *testing.T, raw []byte, cut int) {
		cut = min(max(cut, 0), len(raw))
		for _, kind := range []struct {
			name   string
			filter func() *safetext.Filter
			want   *regexp.Regexp
		}{{"plain", safetext.Plain, onlyText}, {"log", safetext.Log, onlySGR}, {"terminal", safetext.Terminal, onlyDraw}, {"relay", safetext.Relay, nil}} {
			whole := through(kind.filter(), string(raw))
			if kind.want == nil && commanding.MatchString(whole) || kind.want != nil && (!kind.want.MatchString(whole) || !utf8.ValidString(whole)) {
				t.Errorf("%s lets through %q of %q", kind.name, whole, raw)
			}
			if got := through(kind.filter(), string(raw[:cut]), string(raw[cut:])); got != whole {
				t.Errorf("%s of %q cut at %d is %q, whole it is %q", kind.name, raw, cut, got, whole)
			}
			if again := through(kind.filter(), whole); again != whole {
				t.Errorf("%s of %q is %q, again it is %q", kind.name, raw, whole, again)
			}
		}
		if got := string(safetext.Colours(string(raw))); !onlySGR.MatchString(got) || bytes.ContainsRune([]byte(got), '\r') {
			t.Errorf("a screen lets through %q of %q", got, raw)
		}
	})
}

func FuzzField(f *testing.F) {
	f.Add("a\u202eb\x1b[2J\u009b\xff\n👩\u200d💻")
	f.Fuzz(func(t *testing.T, raw string) {
		for _, make := range []func(string) safetext.Text{safetext.Line, safetext.Lines} {
			got := string(make(raw))
			if !onlyText.MatchString(got) || unseen.MatchString(got) || !utf8.ValidString(got) {
				t.Errorf("%q is shown as %q", raw, got)
			}
			if again := string(make(got)); again != got {
				t.Errorf("%q is shown as %q, again as %q", raw, got, again)
			}
		}
		quoted, err := json.Marshal(raw)
		if err != nil {
			t.Fatal(err)
		}
		var want, got string
		if json.Unmarshal(quoted, &want) != nil || json.Unmarshal(safetext.JSON(quoted), &got) != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("the JSON of %q became %q", want, got)
		}
		if safe := safetext.JSON(append(quoted, raw...)); unseen.Match(safe) || bytes.ContainsAny(safe, "\x7f\u009b\u0085") {
			t.Errorf("JSON lets through %q", safe)
		}
	})
}

func FuzzInput(f *testing.F) {
	f.Add([]byte("yes\r"), []byte("secret in the clipboard"), []byte("\x03q"), []byte("\x1b[A\x1b]5"), 4)
	f.Fuzz(func(t *testing.T, before, secret, after, noise []byte, cut int) {
		before, after = bytes.ReplaceAll(before, []byte("\x1b"), nil), bytes.ReplaceAll(after, []byte("\x1b"), nil)
		content := base64.StdEncoding.EncodeToString(secret)
		raw := slices.Concat(before, []byte("\x1b]52;c;"+content+"\x1b\\"), after)
		var whole, pieces, any safetext.Input
		if got, want := whole.Append(nil, raw), slices.Concat(before, after); !bytes.Equal(got, want) {
			t.Errorf("%q becomes %q, want %q", raw, got, want)
		}
		cut = min(max(cut, 0), len(raw))
		got := pieces.Append(pieces.Append(nil, raw[:cut]), raw[cut:])
		if !bytes.HasPrefix(got, before) || !bytes.HasSuffix(got, after) || len(got) > len(before)+len(after)+len("\x1b]52") {
			t.Errorf("%q cut at %d becomes %q", raw, cut, got)
		}
		_ = any.Append(any.Append(nil, noise), raw)
	})
}
