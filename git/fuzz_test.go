package git

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// FuzzReadHead reads HEAD and packed-refs of a repository with arbitrary content. The result is a branch and a
// commit, or an error.
func FuzzReadHead(f *testing.F) {
	oid := strings.Repeat("a", 40)
	f.Add(oid, "")
	f.Add("ref: refs/heads/main\n", oid+" refs/heads/main\n")
	f.Add("ref: refs/heads/../../../etc/passwd", "")
	f.Add("ref: refs/heads/", "# pack-refs\n^"+oid+"\n")
	f.Add("ref: refs/heads/a\x00b", oid+" refs/heads/a\x00b")
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, head, packed string) {
		for name, text := range map[string]string{"HEAD": head, "packed-refs": packed} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		got, err := ReadHead(dir, dir)
		if err != nil {
			return
		}
		if got.OID != "" && !IsOID(got.OID) || got.Ref == "" && got.OID == "" || got.Ref != "" && !strings.HasPrefix(got.Ref, "refs/heads/") || strings.Contains(got.Ref, "..") && strings.Contains(got.Ref, "/../") {
			t.Fatalf("%q and %q are %+v", head, packed, got)
		}
	})
}

// FuzzNumstat parses arbitrary output of a diff with hostile names. There are never more files than entries.
func FuzzNumstat(f *testing.F) {
	f.Add("1\t2\tname")
	f.Add("-\t-\tbinary\x001\t0\t\x00old\x00new")
	f.Add("1\t2")
	f.Add("-5\t3\tx")
	f.Fuzz(func(t *testing.T, out string) {
		entries := split([]byte(out))
		s, err := parseNumstat(entries)
		if err == nil && s.Files > len(entries) {
			t.Fatalf("%q has %+v", out, s)
		}
	})
}

// FuzzStatus parses arbitrary output of a status with hostile names. Every path is in the output, and no kind has
// more paths than there are entries.
func FuzzStatus(f *testing.F) {
	oid := strings.Repeat("a", 40)
	f.Add("1 .M N... 100644 100644 100644 " + oid + " " + oid + " a b\x00? new\nname\x00? nested/\x00")
	f.Add("1 .M S... 100644 100644 160000 " + oid + " " + oid + " was-a-file\x00")
	f.Add("1 .D N... 1 2 3 4 5 \x00? \x00? /\x00")
	f.Add("2 R. N... x\x00")
	f.Fuzz(func(t *testing.T, listing string) {
		c, err := parseStatus(listing)
		if err != nil {
			return
		}
		entries := strings.Count(listing, "\x00") + 1
		for _, paths := range [][]string{c.New, c.Changed, c.Removed, c.Nested} {
			if len(paths) > entries {
				t.Fatalf("%q has %d paths of a kind", listing, len(paths))
			}
			for _, p := range paths {
				if strings.Contains(p, "\x00") || !strings.Contains(listing, p) {
					t.Fatalf("%q has the path %q", listing, p)
				}
			}
		}
	})
}

// FuzzRemote parses arbitrary branches and tags of a remote, and its reasons for the refusal of a push. Branches name
// commits, and a reason is one line.
func FuzzRemote(f *testing.F) {
	oid := strings.Repeat("a", 40)
	f.Add("ref: refs/heads/main\tHEAD\n" + oid + "\tHEAD\n" + oid + "\trefs/heads/main\n" + oid + "\trefs/tags/v1^{}\n")
	f.Add("ref: main\tHEAD\n-x\trefs/heads/a\n" + oid + " refs/heads/b\n")
	f.Add("To x\n!\ta:refs/heads/main\t[remote rejected] (hook declined)\nDone\n")
	f.Add("!\ta\t(")
	f.Fuzz(func(t *testing.T, listing string) {
		r := parseRemote(listing)
		if strings.ContainsAny(r.Default, "\n\t") {
			t.Fatalf("%q has the default branch %q", listing, r.Default)
		}
		for _, refs := range []map[string]string{r.Heads, r.Tags} {
			for name, id := range refs {
				if !IsOID(id) || strings.Contains(name, "\n") {
					t.Fatalf("%q has %q at %q", listing, name, id)
				}
			}
		}
		if why, refused := refusal(listing); strings.Contains(why, "\n") || why != "" && !refused {
			t.Fatalf("%q is refused with %q", listing, why)
		}
	})
}
