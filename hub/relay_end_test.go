package hub

import (
	"os"
	"testing"
	"time"

	"svc"
)

func TestALogIsCompleteWhenItHasTheLengthThatWasTold(t *testing.T) {
	t.Parallel()
	r, run := newRelay(t), svc.NewRunID()
	add := func(offset int64, text string, want Appended) {
		t.Helper()
		if got, err := r.Append("", run, 1, &offset, []byte(text)); err != nil || got != want {
			t.Errorf("append %q at %d: %+v, %v; want %+v", text, offset, got, err, want)
		}
	}
	finish := func(length int64, want Appended) {
		t.Helper()
		if got, err := r.Finish(run, 1, length); err != nil || got != want {
			t.Errorf("finish at %d: %+v, %v; want %+v", length, got, err, want)
		}
	}
	add(0, "abc", Appended{Offset: 3, Bytes: 3})
	finish(6, Appended{Offset: 3})
	r.Close() // a restart keeps the end
	add(3, "de", Appended{Offset: 5, Bytes: 2})
	add(5, "f", Appended{Offset: 6, Bytes: 1, Complete: true})
	finish(6, Appended{Offset: 6, Complete: true})
	if err := os.WriteFile(r.dir.end(run, 1), []byte("6"), 0o600); err != nil { // an incomplete file, as after a crash
		t.Fatal(err)
	}
	r.Close()
	add(6, "", Appended{Offset: 6})
	empty := svc.NewRunID()
	if got, err := r.Finish(empty, 1, 0); err != nil || !got.Complete {
		t.Errorf("an empty log: %+v, %v", got, err)
	}
	if n, err := r.Purge(time.Now().Add(time.Hour), func(string) bool { return false }); err != nil || n != 4 {
		t.Errorf("purged %d files, %v; want both logs and their lengths", n, err)
	}
}
