package hub

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"svc"
	"svc/wire"
)

// TestReportsAreEnoughToCopyTheFolder copies each file when it is reported. After all kinds of changes by a hub, the
// copies must be equal to the folder.
func TestReportsAreEnoughToCopyTheFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	h := New(dir, quiet())
	copies := map[string]string{}
	h.OnWritten = func(path string) {
		if b, err := os.ReadFile(filepath.Join(dir, path)); err == nil {
			copies[path] = string(b)
		}
	}
	h.OnRemoved = func(path string) { delete(copies, path) }
	compare := func(after string) {
		t.Helper()
		found := map[string]string{}
		err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() || strings.HasSuffix(path, ".part") {
				return err
			}
			b, err := os.ReadFile(path)
			below, _ := filepath.Rel(dir, path)
			found[below] = string(b)
			return err
		})
		if err != nil || !maps.Equal(found, copies) {
			t.Errorf("%s: the folder has %q, the copies are %q, %v", after, slices.Sorted(maps.Keys(found)), slices.Sorted(maps.Keys(copies)), err)
		}
	}
	run, workspace := svc.NewRunID(), svc.NewWorkspaceID()
	do := func(after string, err error) {
		t.Helper()
		if err != nil {
			t.Errorf("%s: %v", after, err)
		}
		compare(after)
	}
	start := int64(0)
	_, err := h.Relay.Append("h", run, 1, &start, []byte("text\n"), wire.LogTime{Offset: 0, Ms: 1})
	do("a chunk", err)
	_, err = h.Relay.Finish(run, 1, 5)
	do("the end of a log", err)
	h.Relay.MostLog = 3
	_, err = h.Relay.Append("h", run, 2, &start, []byte("text\n"))
	do("a log that was cut", err)
	do("a screen", h.Panes.PutFinal(run, 2, "screen", 1))
	for number := range 5 {
		for _, kind := range []CheckpointKind{CheckpointBundle, CheckpointPatch} {
			sum := sha256.Sum256([]byte("bytes"))
			_, _, err = h.Checkpoints.Take(Piece{HostID: "h", WorkspaceID: workspace, Number: number + 1, Kind: kind, Total: 5, Hash: hex.EncodeToString(sum[:]), Bytes: []byte("bytes")})
			do("a checkpoint", err)
		}
		do("its description", h.Checkpoints.Describe("h", workspace, number+1, CheckpointInfo{Tree: "tree"}))
	}
	before := len(copies)
	do("a trim", h.Checkpoints.Trim("h", workspace, 5, nil))
	if len(copies) >= before {
		t.Error("nothing was trimmed")
	}
	do("the end of a workspace", h.Checkpoints.Remove(workspace))
	h.Relay.Close()
	nobody := func(string) bool { return false }
	_, err = h.Relay.Purge(time.Now().Add(time.Hour), nobody)
	do("a purge of logs", err)
	_, err = h.Panes.Purge(time.Now().Add(time.Hour), nobody)
	do("a purge of screens", err)
	if len(copies) > 0 {
		t.Errorf("%q are left", slices.Sorted(maps.Keys(copies)))
	}
}
