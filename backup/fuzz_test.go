package backup_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"svc/backup"
)

// archiveOf returns an archive with these entries, valid or not.
func archiveOf(t testing.TB, entries ...tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	zip := gzip.NewWriter(&b)
	archive := tar.NewWriter(zip)
	for _, e := range entries {
		text := e.PAXRecords["SVC.text"]
		e.PAXRecords, e.Mode = nil, 0o600
		if e.Typeflag == 0 || e.Typeflag == tar.TypeReg {
			e.Size = int64(len(text))
		}
		if err := archive.WriteHeader(&e); err != nil {
			t.Fatal(err)
		}
		if e.Size > 0 {
			if _, err := archive.Write([]byte(text)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// entry returns the header of a file with this text.
func entry(name, text string) tar.Header {
	return tar.Header{Name: name, PAXRecords: map[string]string{"SVC.text": text}}
}

// manifestOf returns a manifest that lists these files, each with the text "x".
func manifestOf(names ...string) tar.Header {
	const sum = "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"
	var files []string
	for _, n := range names {
		files = append(files, fmt.Sprintf(`{"name":%q,"size":1,"sha256":%q}`, n, sum))
	}
	return entry("manifest.json", `{"format":1,"version":"v","created_at":"2026-01-01T00:00:00Z","files":[`+strings.Join(files, ",")+`]}`)
}

func TestAnArchiveNamesEachFileOnce(t *testing.T) {
	t.Parallel()
	for what, data := range map[string][]byte{
		"a file twice":         archiveOf(t, entry("a", "x"), entry("a", "x"), manifestOf("a")),
		"another text, twice":  archiveOf(t, entry("a", "y"), entry("a", "x"), manifestOf("a")),
		"two spellings of one": archiveOf(t, entry("a", "x"), entry("b/../a", "x"), manifestOf("a", "b/../a")),
	} {
		file := filepath.Join(t.TempDir(), "b.tar.gz")
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := backup.Verify(t.Context(), file); err == nil {
			t.Errorf("%s: it counts as whole", what)
		}
	}
}

// FuzzExtract extracts arbitrary archives. An archive that Verify accepts is extracted exactly as its manifest says,
// and Extract never writes outside of the folder. The fuzzer's input is the uncompressed tar, because a fuzzer cannot
// guess gzip's checksum.
func FuzzExtract(f *testing.F) {
	link := tar.Header{Name: "token", Typeflag: tar.TypeSymlink, Linkname: "../outside"}
	for _, data := range [][]byte{
		archiveOf(f, entry("svc.db", "x"), entry("relay/a/1.log", "x"), manifestOf("svc.db", "relay/a/1.log")),
		archiveOf(f, entry("../outside", "x"), manifestOf("../outside")),
		archiveOf(f, entry("/tmp/outside", "x"), manifestOf("/tmp/outside")),
		archiveOf(f, link, entry("token/x", "x"), manifestOf("token/x")),
		archiveOf(f, entry("a", "x"), entry("a", "x"), manifestOf("a", "a")),
		archiveOf(f, entry("a", "x"), entry("a/b", "x"), manifestOf("a", "a/b")),
		archiveOf(f, manifestOf()), archiveOf(f),
	} {
		plain, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			f.Fatal(err)
		}
		var text bytes.Buffer
		if _, err := text.ReadFrom(plain); err != nil {
			f.Fatal(err)
		}
		f.Add(text.Bytes())
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		dir := t.TempDir()
		file, into := filepath.Join(dir, "b.tar.gz"), filepath.Join(dir, "deep", "into")
		var b bytes.Buffer
		zip, _ := gzip.NewWriterLevel(&b, gzip.NoCompression)
		_, _ = zip.Write(text)
		_ = zip.Close()
		if err := os.WriteFile(file, b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(into, 0o700); err != nil {
			t.Fatal(err)
		}
		m, err := backup.Extract(t.Context(), file, into)
		if _, whole := backup.Verify(t.Context(), file); err == nil && whole != nil {
			t.Fatalf("it was extracted, and is not whole: %v", whole)
		}
		want := map[string]int64{}
		for _, file := range m.Files {
			want[filepath.Join(into, filepath.FromSlash(file.Name))] = file.Size
		}
		var found int
		_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, walkErr error) error {
			if walkErr != nil || d.IsDir() || path == file {
				return walkErr
			}
			found++
			if info, statErr := d.Info(); !strings.HasPrefix(path, into+"/") || statErr != nil || !info.Mode().IsRegular() {
				t.Fatalf("it made %s", path)
			} else if size, named := want[path]; err == nil && (!named || size != info.Size()) {
				t.Fatalf("%s has %d bytes, the manifest says %d, %v", path, info.Size(), size, named)
			}
			return nil
		})
		if err == nil && found != len(want) {
			t.Fatalf("%d files of %d", found, len(want))
		}
	})
}
