package hub

import (
	"io/fs"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"svc"
)

// FuzzClientFrame parses arbitrary client frames: an accepted frame has a known type and is within its limits.
func FuzzClientFrame(f *testing.F) {
	for _, seed := range []string{``, `{}`, `null`, `[]`, `{"type":"input","bytes":"YQ=="}`, `{"type":"input","bytes":"%"}`, `{"type":"resize","rows":24,"cols":80}`,
		`{"type":"resize","rows":-1,"cols":1e9}`, `{"type":"release_lease"}`, `{"type":"take_lease","rows":null}`, `{"type":"\u0000"}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := parseClient(b)
		if err != nil {
			if len(err.Error()) > 500 {
				t.Errorf("%q is answered with %d bytes", b, len(err.Error()))
			}
			return
		}
		switch {
		case got.Type == "input" && len(got.Bytes) > 0 && len(got.Bytes) <= len(b):
		case got.Type == "resize" && goodSize(got.Rows, got.Cols):
		case got.Type == "release_lease" || got.Type == takeLease:
		default:
			t.Errorf("%q is taken as %+v", b, got)
		}
	})
}

// FuzzPiece stores pieces of checkpoints with arbitrary names, numbers and lengths: nothing is written outside the
// workspace's folder, and no more than was sent.
func FuzzPiece(f *testing.F) {
	id := "7d3c1f0a-5b7e-4c55-9a57-0b6a1c9e2f11"
	for _, kind := range []string{"bundle", "patch", "", "..", "../../x", "bundle.part", "patch\x00"} {
		f.Add(id, 1, kind, int64(0), int64(3), "", []byte("abc"))
		f.Add("../"+id, -1, kind, int64(-1), int64(-5), "zz", []byte("abc"))
	}
	f.Add(id, 1<<62, "bundle", int64(1)<<62, int64(1)<<62, strings.Repeat("0", 64), []byte{})
	f.Fuzz(func(t *testing.T, workspace string, number int, kind string, offset, total int64, hash string, data []byte) {
		dir := t.TempDir()
		h := New(filepath.Join(dir, "relay"), slog.New(slog.DiscardHandler))
		kept, complete, err := h.Checkpoints.Take(Piece{HostID: "h", WorkspaceID: workspace, Number: number, Kind: CheckpointKind(kind), Offset: offset, Total: total, Hash: hash, Bytes: data})
		if kept < 0 || kept > int64(len(data)) || complete && (err != nil || kept != total) {
			t.Errorf("kept %d, complete %v, %v", kept, complete, err)
		}
		_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() && filepath.Dir(path) != filepath.Join(dir, "relay", "workspaces", workspace) || err == nil && !d.IsDir() && !svc.IsID(workspace) {
				t.Errorf("%s was written", path)
			}
			return nil
		})
		if used := h.Quota.Used("h"); used != h.Checkpoints.Size(workspace) && svc.IsID(workspace) {
			t.Errorf("%d bytes count, %d are there", used, h.Checkpoints.Size(workspace))
		}
	})
}
