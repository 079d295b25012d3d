package atomicfile_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"svc/atomicfile"
)

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// wantFiles fails the test if the number of files in a folder is not the wanted one.
func wantFiles(t *testing.T, dir string, want int) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != want {
		t.Errorf("%d files are left, %v; want %d", len(entries), err, want)
	}
}

func TestReplaceChangesContentAndMode(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file")
	for _, text := range []string{"one", "a longer two", ""} {
		if err := atomicfile.Replace(path, []byte(text), 0o640); err != nil {
			t.Fatal(err)
		}
		if got := read(t, path); got != text {
			t.Errorf("got %q, want %q", got, text)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode() != 0o640 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	wantFiles(t, filepath.Dir(path), 1)
}

func TestWhatCannotBeWrittenChangesNothing(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file")
	if err := atomicfile.Replace(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	full := errors.New("no space")
	err := atomicfile.Fill(path, 0o600, func(w io.Writer) error {
		_, err := io.WriteString(w, "half of the n")
		return errors.Join(err, full)
	})
	if !errors.Is(err, full) || read(t, path) != "old" {
		t.Errorf("%v; the file has %q", err, read(t, path))
	}
	wantFiles(t, filepath.Dir(path), 1)
}

func TestOfManyThatCreateOneDoes(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file")
	var winner atomic.Value
	var all sync.WaitGroup
	for _, text := range []string{"a", "b", "c", "d", "e", "f"} {
		all.Go(func() {
			made, err := atomicfile.Create(path, []byte(text), 0o600)
			if err != nil {
				t.Error(err)
			}
			if made && winner.Swap(text) != nil {
				t.Error("two have made it")
			}
		})
	}
	all.Wait()
	if got := read(t, path); got != winner.Load() {
		t.Errorf("the file has %q, made by %v", got, winner.Load())
	}
	wantFiles(t, filepath.Dir(path), 1)
}

func TestDiskFreeIsToldInBytes(t *testing.T) {
	t.Parallel()
	if free, err := atomicfile.DiskFree(t.TempDir()); err != nil || free == 0 {
		t.Errorf("%d, %v", free, err)
	}
	if _, err := atomicfile.DiskFree("/nonexistent/x"); err == nil {
		t.Error("free space of nowhere")
	}
}
