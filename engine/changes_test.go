package engine

import (
	"io"
	"strings"
	"testing"

	"svc"
	"svc/wire"
)

// patchOne changes the second line of a file of the base. patchTwo changes more of it, and adds a file whose name
// contains a newline.
const (
	patchOne = "diff --git a/a b/a\nindex 1111111111111111111111111111111111111111..2222222222222222222222222222222222222222 100644\n" +
		"--- a/a\n+++ b/a\n@@ -1,4 +1,4 @@\n one\n-two\n+TWO\n three\n four\n"
	patchTwo = "diff --git a/a b/a\nindex 1111111111111111111111111111111111111111..3333333333333333333333333333333333333333 100644\n" +
		"--- a/a\n+++ b/a\n@@ -1,4 +1,5 @@\n+zero\n one\n-two\n+TWO\n three\n four\n" +
		"diff --git \"a/new\\nline\" \"b/new\\nline\"\nnew file mode 100755\nindex 0000000000000000000000000000000000000000..4444444444444444444444444444444444444444\n" +
		"--- /dev/null\n+++ \"b/new\\nline\"\n@@ -0,0 +1 @@\n+x\n"
)

// relaysPatch makes a checkpoint with a patch against a commit.
func (w *worker) relaysPatch(id string, number int, patch, from string) {
	w.s.t.Helper()
	w.relaysDone(id, number, patch, wire.CheckpointDone{Files: 1, Tree: "treeof" + from, From: from})
}

func (s *site) diff(id string, number, since int, path string) string {
	s.t.Helper()
	f, err := s.Diff(s.ctx, id, number, since, path)
	s.no(err)
	defer f.Close()
	_, err = f.Seek(0, io.SeekStart)
	s.no(err)
	text, err := io.ReadAll(f)
	s.no(err)
	return string(text)
}

func TestAChangeIsReadFromWhatWasRelayed(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.online("h")
		w.keepBeating()
		s.inRepository()
		id := w.dispatched().Workspace.ID
		w.relaysPatch(id, 1, patchOne, "base")
		w.relaysPatch(id, 2, patchTwo, "base")
		w.relaysPatch(id, 3, patchTwo, "elsewhere")

		got, err := s.Change(s.ctx, id, 2, 0)
		s.no(err)
		if len(got.Files) != 2 || got.Checkpoint != 2 || got.Tree != "treeofbase" || got.PatchBytes != int64(len(patchTwo)) || got.Truncated {
			t.Fatalf("got %+v", got)
		}
		if f := got.Files[1]; f.Path != `"new\nline"` || f.Status != "added" || f.Mode != "100755" || f.Additions != 1 {
			t.Errorf("got %+v", f)
		}
		if text := s.diff(id, 2, 0, ""); text != patchTwo {
			t.Errorf("got %s", text)
		}
		if text := s.diff(id, 2, 0, `"new\nline"`); text != patchTwo[strings.Index(patchTwo, "diff --git \""):] {
			t.Errorf("got %s", text)
		}

		got, err = s.Change(s.ctx, id, 2, 1)
		s.no(err)
		if len(got.Files) != 2 || got.Since != 1 || got.Files[0].Additions != 1 || got.Files[0].Deletions != 0 {
			t.Errorf("since 1: %+v", got)
		}
		if text := s.diff(id, 2, 1, "a"); !strings.HasSuffix(text, "@@ -1,3 +1,4 @@\n+zero\n one\n TWO\n three\n") {
			t.Errorf("since 1: %s", text)
		}

		_, err = s.Change(s.ctx, id, 3, 1)
		s.wantCode("checkpoints on different commits", err, svc.CodeConflict)
		_, err = s.Change(s.ctx, id, 2, 2)
		s.wantCode("since itself", err, svc.CodeValidation)
		_, err = s.Change(s.ctx, id, 9, 0)
		s.wantCode("one that is not here", err, svc.CodeNotRelayed)
		_, err = s.Diff(s.ctx, id, 2, 0, "other")
		s.wantCode("a file that is not changed", err, svc.CodeValidation)
		w.relaysPatch(id, 4, "this is no patch\n", "base")
		_, err = s.Change(s.ctx, id, 4, 0)
		s.wantCode("no patch", err, svc.CodeConflict)
	})
}
