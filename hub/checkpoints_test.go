package hub

import (
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"os"
	"strings"
	"testing"

	"svc"
)

// TestCheckpointsCountForTheirHost stores checkpoints up to the host's quota; removed ones free their space.
func TestCheckpointsCountForTheirHost(t *testing.T) {
	t.Parallel()
	h := New(t.TempDir(), slog.New(slog.DiscardHandler))
	h.Quota.MostHost = 100
	const text = "0123456789"
	sum := sha256.Sum256([]byte(text))
	workspace := svc.NewWorkspaceID()
	take := func(number int, hash string) (bool, error) {
		_, complete, err := h.Checkpoints.Take(Piece{HostID: "h", WorkspaceID: workspace, Number: number, Kind: CheckpointBundle,
			Total: int64(len(text)), Hash: hash, Bytes: []byte(text)})
		return complete, err
	}
	for number := 1; number <= 10; number++ {
		if complete, err := take(number, hex.EncodeToString(sum[:])); err != nil || !complete {
			t.Fatalf("checkpoint %d: complete %v, %v", number, complete, err)
		}
	}
	if _, err := take(11, hex.EncodeToString(sum[:])); svc.CodeOf(err) != svc.CodeUnavailable {
		t.Errorf("past the bound: %v", err)
	}
	if err := h.Checkpoints.Trim("h", workspace, 10, nil); err != nil {
		t.Fatal(err)
	}
	if used, there := h.Quota.Used("h"), h.Checkpoints.Size(workspace); used != 30 || there != 30 {
		t.Errorf("%d bytes count and %d are there, want 30", used, there)
	}
	if complete, err := take(11, strings.Repeat("0", 64)); err != nil || complete {
		t.Errorf("a file that is not what was named: complete %v, %v", complete, err)
	}
	if used := h.Quota.Used("h"); used != 30 {
		t.Errorf("%d bytes count after it was dropped, want 30", used)
	}
}

// TestFilesWithoutAByteAreBounded requests the offsets of very many checkpoints.
func TestFilesWithoutAByteAreBounded(t *testing.T) {
	t.Parallel()
	h := New(t.TempDir(), slog.New(slog.DiscardHandler))
	workspace := svc.NewWorkspaceID()
	take := func(number int) error {
		_, _, err := h.Checkpoints.Take(Piece{HostID: "h", WorkspaceID: workspace, Number: number, Kind: CheckpointPatch, Total: 1})
		return err
	}
	for i := range mostFiles {
		if err := os.MkdirAll(h.Checkpoints.folder(workspace), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(h.Checkpoints.path(workspace, i+1, "patch.part"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := take(mostFiles + 1); svc.CodeOf(err) != svc.CodeUnavailable {
		t.Errorf("one more file: %v", err)
	}
	if err := take(1); err != nil {
		t.Errorf("a file that is there: %v", err)
	}
}

// TestPatchesAreKeptThinnerTheOlderTheyAre simulates a long run: a removed patch never becomes one that is kept, the
// newest patches are all kept, and for every old checkpoint a patch near it is kept.
func TestPatchesAreKeptThinnerTheOlderTheyAre(t *testing.T) {
	t.Parallel()
	kept := map[int]bool{}
	for newest := 1; newest <= 3000; newest++ {
		kept[newest] = true
		for number := range kept {
			if !KeepsPatch(number, newest) {
				delete(kept, number)
			}
		}
		for number := max(1, newest-7); number <= newest; number++ {
			if !kept[number] {
				t.Fatalf("with %d the newest, %d is not kept", newest, number)
			}
		}
	}
	if len(kept) > 60 {
		t.Errorf("%d patches of 3000 are kept", len(kept))
	}
	for age := 8; age < 2900; age++ {
		near := false
		for number := range kept {
			near = near || number <= 3000-age && number > 3000-age-age/2-1
		}
		if !near {
			t.Fatalf("of checkpoint %d nothing near is kept", 3000-age)
		}
	}
}
