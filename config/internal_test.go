package config

import (
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"
)

// A directory that root cannot write to takes a mount, so the translation is tested by itself.
func TestErrorsOfTheDataDirSayWhatIsWrong(t *testing.T) {
	t.Parallel()
	for want, cause := range map[string]error{
		"read-only":       syscall.EROFS,
		"may not write":   syscall.EACCES,
		"not a directory": syscall.ENOTDIR,
		"no space left":   syscall.ENOSPC,
	} {
		err := dirError("/d/svc", &fs.PathError{Op: "mkdir", Path: "/d", Err: cause})
		if !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "/d/svc") {
			t.Errorf("%v gives %q, want it to say %q", cause, err, want)
		}
	}
}

func TestADataDirWithoutWritePermissionIsAnError(t *testing.T) {
	t.Parallel()
	if os.Getuid() == 0 {
		t.Skip("root may write everywhere")
	}
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	if _, err := EnsureDataDir(dir); err == nil || !strings.Contains(err.Error(), "may not write") {
		t.Errorf("the error is %v", err)
	}
}

func TestEverySettingIsDocumented(t *testing.T) {
	t.Parallel()
	for _, s := range settings() {
		if s.doc == "" || s.def == "" && s.shown == "" {
			t.Errorf("%s has no doc or no default to show", s.name())
		}
	}
}
