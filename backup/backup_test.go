package backup_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"svc"
	"svc/backup"
)

// tree makes files below a new folder.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestAnArchiveGivesBackWhatItTook(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("line\n", 1<<19)
	from := tree(t, map[string]string{"token": "secret", "relay/a/1.log": large, "relay/a/1.end": "", "relay/b/pane.json": "{}"})
	if err := os.Symlink("/etc/passwd", filepath.Join(from, "relay", "link")); err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), "b.tar.gz")
	wrote, err := backup.Write(t.Context(), to, "v1", []backup.Source{
		{Name: "token", Path: filepath.Join(from, "token")}, {Name: "none", Path: filepath.Join(from, "none")}, {Name: "relay", Path: filepath.Join(from, "relay")},
	})
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(to); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the archive is %v (%v)", info.Mode(), err)
	}
	into := t.TempDir()
	read, err := backup.Extract(t.Context(), to, into)
	if err != nil {
		t.Fatal(err)
	}
	if n, bytes := read.Bytes("relay/"); n != 3 || bytes != int64(len(large))+2 || len(read.Files) != 4 || len(wrote.Files) != 4 || read.Version != "v1" {
		t.Errorf("the manifest: %+v", read)
	}
	for name, want := range map[string]string{"token": "secret", "relay/a/1.log": large, "relay/a/1.end": "", "relay/b/pane.json": "{}"} {
		if got, err := os.ReadFile(filepath.Join(into, name)); err != nil || string(got) != want {
			t.Errorf("%s came back with %d bytes (%v), want %d", name, len(got), err, len(want))
		}
	}
	old, _ := os.Stat(filepath.Join(from, "token"))
	now, err := os.Stat(filepath.Join(into, "token"))
	if err != nil || !now.ModTime().Equal(old.ModTime().Truncate(1e9)) {
		t.Errorf("the file is of %v (%v), was of %v", now.ModTime(), err, old.ModTime())
	}
	if _, err := backup.Write(t.Context(), to, "v1", nil); svc.CodeOf(err) != svc.CodeConflict {
		t.Errorf("a second archive of that name: %v", err)
	}
}

// An archive that was cut off, changed or extended is refused. The error names the file where possible.
func TestAnArchiveThatIsNotWholeIsRefused(t *testing.T) {
	t.Parallel()
	from := tree(t, map[string]string{"a": strings.Repeat("x", 1<<12), "b": "two"})
	file := filepath.Join(t.TempDir(), "b.tar.gz")
	if _, err := backup.Write(t.Context(), file, "v1", []backup.Source{{Name: "f", Path: from}}); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	refused := func(what string, content []byte, says string) {
		t.Helper()
		path := filepath.Join(t.TempDir(), "x")
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := backup.Verify(t.Context(), path)
		if svc.CodeOf(err) != svc.CodeConflict || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", what, err, says)
		}
	}
	for n := range len(whole) { // cut at every length, as by a full disk or a lost connection
		refused("cut off", whole[:n], " is ")
		if t.Failed() {
			return
		}
	}
	again := func(change func(*tar.Header, []byte) []byte) []byte {
		zip, err := gzip.NewReader(bytes.NewReader(whole))
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		rezip := gzip.NewWriter(&out)
		in, retar := tar.NewReader(zip), tar.NewWriter(rezip)
		for {
			h, err := in.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			text, err2 := io.ReadAll(in)
			if err != nil || err2 != nil {
				t.Fatal(err, err2)
			}
			if text = change(h, text); text == nil {
				continue
			}
			h.Size = int64(len(text))
			if err := retar.WriteHeader(h); err != nil {
				t.Fatal(err)
			}
			if _, err := retar.Write(text); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(retar.Close(), rezip.Close()); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	refused("changed", again(func(h *tar.Header, text []byte) []byte {
		if h.Name == "f/b" {
			return []byte("owt")
		}
		return text
	}), "f/b (damaged)")
	refused("left out", again(func(h *tar.Header, text []byte) []byte {
		if h.Name == "f/a" {
			return nil
		}
		return text
	}), "f/a (missing)")
	refused("beyond its folder", again(func(h *tar.Header, text []byte) []byte {
		h.Name = strings.Replace(h.Name, "f/a", "../a", 1)
		return text
	}), `an entry "../a"`)
	refused("of the future", again(func(h *tar.Header, text []byte) []byte {
		return bytes.Replace(text, []byte(`"format":1`), []byte(`"format":2`), 1)
	}), "newer svc")
	if _, err := backup.Verify(t.Context(), filepath.Join(from, "none")); svc.CodeOf(err) != svc.CodeNotFound || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no archive at all: %v", err)
	}
}
