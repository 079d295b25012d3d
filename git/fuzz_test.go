package git

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// FuzzReadHead reads HEAD and packed-refs of a repository in which somebody else wrote anything: what is found is a branch and a commit, or an error.
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

// FuzzNumstat counts anything that a difference with hostile names could print: there are no more files than entries.
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
