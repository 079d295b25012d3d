package review

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func readText(text string) (*Patch, error) { return Read(strings.NewReader(text), int64(len(text))) }

// FuzzRead reads arbitrary text, as a hostile host may relay it. The files of an accepted patch cover the text
// without a gap and are the same when they are loaded with their content. The difference that is written for two
// patches matches its list of files.
func FuzzRead(f *testing.F) {
	const changed = "diff --git a/a b/a\nindex 1111111..2222222 100644\n--- a/a\n+++ b/a\n@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n three\n"
	const binary = "diff --git a/b b/b\nnew file mode 100644\nindex 0000000..3333333\nGIT binary patch\nliteral 3\nKcmZQzU|?VX0RR910RR\n\nliteral 0\nHcmV?d00001\n\n"
	for _, seed := range [][2]string{
		{changed, "diff --git a/a b/a\nindex 1111111..4444444 100644\n--- a/a\n+++ b/a\n@@ -2 +2,2 @@ func\n-two\n+2\n+3\n\\ No newline at end of file\n"},
		{changed, "diff --git a/a b/c\nsimilarity index 90%\nrename from a\nrename to c\nindex 1111111..4444444 100755\n--- a/a\n+++ b/c\n@@ -3,0 +4 @@\n+four\n"},
		{changed, "diff --git a/a b/a\ndeleted file mode 100644\nindex 1111111..0000000\n--- a/a\n+++ /dev/null\n@@ -1,3 +0,0 @@\n-one\n-two\n-three\n"},
		{binary, "diff --git a/b b/b\nnew file mode 120000\nindex 0000000..5555555\n--- /dev/null\n+++ b/b\n@@ -0,0 +1 @@\n+a\n\\ No newline at end of file\n"},
		{"diff --git \"a/\\303\\244\\t\" \"b/\\303\\244\\t\"\nold mode 100644\nnew mode 100755\n", "Binary files a/x and b/x differ\n"},
		{"diff --git a/l b/l\ndeleted file mode 120000\nindex 1..0\ndiff --git a/l b/l\nnew file mode 100644\nindex 0..2\n", ""},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, one, two string) {
		from, err := readText(one)
		if err != nil {
			return
		}
		wantCovered(t, from, one)
		to, err := readText(two)
		if err != nil {
			to = &Patch{from: strings.NewReader("")}
		}
		wantServedAsListed(t, from, to)
		wantServedAsListed(t, to, from)
		if list, _, err := Between(from, from, &bytes.Buffer{}); err == nil && len(list) > 0 {
			t.Errorf("a patch differs from itself: %+v", *list[0])
		}
	})
}

// wantCovered checks that the files of a patch cover the text in order, and that they are the same when they are
// loaded.
func wantCovered(t *testing.T, p *Patch, text string) {
	t.Helper()
	at := int64(0)
	for _, f := range p.Files {
		if f.Start != at || f.End <= f.Start || f.Path == "" {
			t.Fatalf("%q is from byte %d to %d, the one before ends at %d", f.Path, f.Start, f.End, at)
		}
		at = f.End
		loaded, err := p.load(f)
		if err != nil {
			continue
		}
		if got, want := outline(loaded), outline(f); got != want {
			t.Errorf("loaded it is %s, listed it is %s", got, want)
		}
	}
	if at != int64(len(text)) {
		t.Errorf("%d of %d bytes belong to a file", at, len(text))
	}
}

func outline(f *File) string {
	return fmt.Sprintf("%q %q %s %q %q %q %q +%d -%d %v", f.Path, f.OldPath, f.Status, f.OldMode, f.Mode, f.OldOID, f.OID, f.Additions, f.Deletions, f.Binary)
}

// wantServedAsListed reads the written difference of two patches again and compares it with its list of files.
func wantServedAsListed(t *testing.T, from, to *Patch) {
	t.Helper()
	var served bytes.Buffer
	list, complete, err := Between(from, to, &served)
	if err != nil {
		return
	}
	again, err := readText(served.String())
	if err != nil {
		t.Fatalf("what is served cannot be read: %v\n%s", err, served.Bytes())
	}
	shown := slices.DeleteFunc(slices.Clone(list), func(f *File) bool { return f.Unknown })
	if complete != (len(shown) == len(list)) || len(again.Files) != len(shown) {
		t.Fatalf("%d files are listed, %d of them shown (complete: %v), %d are served:\n%s", len(list), len(shown), complete, len(again.Files), served.Bytes())
	}
	for i, f := range again.Files {
		l := shown[i]
		if f.Path != l.Path || f.Status != l.Status || f.OldPath != l.OldPath || f.Additions != l.Additions || f.Deletions != l.Deletions || f.Start != l.Start || f.End != l.End {
			t.Errorf("listed is %s at %d–%d, served is %s at %d–%d:\n%s", outline(l), l.Start, l.End, outline(f), f.Start, f.End, served.Bytes())
		}
	}
}

// FuzzBetween changes one text in two ways and computes the difference from the two patches alone. A model that has
// the texts applies the difference.
func FuzzBetween(f *testing.F) {
	f.Add("a\nb\nc\n", "a\nB\nc\n", "a\nb\nC\nd", uint8(3))
	f.Add("a\nb\nc\nd\ne\nf\ng\nh\ni\n", "b\nc\nd\ne\nf\ng\nh\ni\nj\n", "a\nb\nc\nd\nx\ny\nf\ng\nh\ni", uint8(0))
	f.Add("", "new\n", "", uint8(1))
	f.Add("\n\n\n\n", "\n", "\n\n\n\n\n\n\n", uint8(2))
	f.Add("--- a/f\n+++ b/f\n@@ -1 +1 @@\n", "diff --git a/f b/f\n", "\\ No newline at end of file\n", uint8(4))
	f.Fuzz(func(t *testing.T, base, one, two string, around uint8) {
		from, to := modelPatch(t, base, one, around%6), modelPatch(t, base, two, around%6)
		var served bytes.Buffer
		list, complete, err := Between(from, to, &served)
		if err != nil || !complete || len(list) > 1 || (len(list) == 0) != (one == two) {
			t.Fatalf("%d files, complete: %v, error: %v", len(list), complete, err)
		}
		wantServedAsListed(t, from, to)
		if got := apply(t, one, served.String()); got != two {
			t.Errorf("from %q by\n%s comes %q, want %q", one, served.Bytes(), got, two)
		}
		wantSameLines(t, from, to, one, two)
	})
}

// wantSameLines checks that a located line has the same text, and that located lines keep their order.
func wantSameLines(t *testing.T, from, to *Patch, one, two string) {
	t.Helper()
	old, new := slices.Collect(strings.Lines(one)), slices.Collect(strings.Lines(two))
	last := 0
	for i := range old {
		there, found := Locate(from, to, Place{Path: "f", First: i + 1, Last: i + 1})
		if len(from.Files) == 0 || !found {
			continue
		}
		if there.First <= last || there.First > len(new) || new[there.First-1] != old[i] {
			t.Fatalf("line %d of %q is said to be line %d of %q, the one before is line %d", i+1, one, there.First, two, last)
		}
		last = there.First
	}
}

// modelPatch returns the patch of a text as git writes it, with the given number of lines around each change.
func modelPatch(t *testing.T, base, text string, around uint8) *Patch {
	t.Helper()
	var b strings.Builder
	if base != text {
		fmt.Fprintf(&b, "diff --git a/f b/f\nindex %.8x..%.8x 100644\n--- a/f\n+++ b/f\n", sha256.Sum256([]byte(base)), sha256.Sum256([]byte(text)))
		old, new := 1, 1
		var all []item
		for _, o := range compare(slices.Collect(strings.Lines(base)), slices.Collect(strings.Lines(text))) {
			all = append(all, item{o, old, new})
			if o.kind != '+' {
				old++
			}
			if o.kind != '-' {
				new++
			}
		}
		for _, part := range parts(all, int(around)) {
			writeHunk(&b, part)
		}
	}
	p, err := readText(b.String())
	if err != nil {
		t.Fatalf("%v:\n%s", err, b.String())
	}
	return p
}

// parts returns the changes of a comparison with the lines around them. Changes whose lines touch are one part.
func parts(all []item, around int) (out [][]item) {
	begin, end := 0, 0 // of the current part
	for i, it := range all {
		if it.kind == ' ' {
			continue
		}
		if first := max(i-around, 0); end == 0 || first > end {
			if end > 0 {
				out = append(out, all[begin:end])
			}
			begin = first
		}
		end = min(i+1+around, len(all))
	}
	if end > 0 {
		out = append(out, all[begin:end])
	}
	return out
}

// apply applies a patch of one file to a text. It checks every unchanged and deleted line.
func apply(t *testing.T, text, patch string) string {
	t.Helper()
	lines := slices.Collect(strings.Lines(text))
	var out []string
	at := 0 // number of handled lines of the text
	rest := slices.Collect(strings.Lines(patch))
	for len(rest) > 0 && !strings.HasPrefix(rest[0], "@@ ") {
		rest = rest[1:]
	}
	for len(rest) > 0 {
		span := strings.Split(strings.Fields(rest[0])[1][1:], ",")
		first, err := strconv.Atoi(span[0])
		if err != nil {
			t.Fatal(err)
		}
		if len(span) < 2 || span[1] != "0" {
			first-- // without old lines, first is already the line before
		}
		if first < at || first > len(lines) {
			t.Fatalf("a hunk begins at line %d of %d, the one before ends at %d:\n%s", first, len(lines), at, patch)
		}
		out, at = append(out, lines[at:first]...), first
		for rest = rest[1:]; len(rest) > 0 && !strings.HasPrefix(rest[0], "@@ "); rest = rest[1:] {
			kind, line := rest[0][0], rest[0][1:]
			if len(rest) > 1 && rest[1] == "\\ No newline at end of file\n" {
				line = strings.TrimSuffix(line, "\n")
				rest = rest[1:]
			}
			if kind != '+' {
				if at >= len(lines) || lines[at] != line {
					t.Fatalf("the patch has %q as line %d of %q:\n%s", line, at+1, text, patch)
				}
				at++
				if kind == '-' {
					continue
				}
			}
			out = append(out, line)
		}
	}
	return strings.Join(append(out, lines[at:]...), "")
}
