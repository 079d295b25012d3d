package rundir

import (
	"os"
	"testing"
	"time"
)

// If a writer is suspended for long before it renames its file, the file must still exist afterwards.
func TestAnUnfinishedFileStaysAsLongAsItsWriterLives(t *testing.T) {
	t.Parallel()
	d, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	f, err := unfinished(d.spool())
	if err != nil {
		t.Fatal(err)
	}
	for _, lives := range []bool{true, false} {
		if !lives {
			_ = f.Close()
		}
		if err := d.Sweep(time.Now().Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(f.Name()); (err == nil) != lives {
			t.Errorf("its writer lives: %v; the file: %v", lives, err)
		}
	}
}
