package web

import (
	"io/fs"
	"testing"
)

func TestFilesAreWholeOrAbsent(t *testing.T) {
	t.Parallel()
	files := Files()
	if files == nil {
		if _, err := fs.Stat(dist, "dist/index.html"); err == nil {
			t.Fatal("the app is built, but Files is nil")
		}
		return
	}
	for _, name := range []string{"index.html", "theme.js", "icon.svg", "assets"} {
		if _, err := fs.Stat(files, name); err != nil {
			t.Errorf("the built app lacks %s: %v", name, err)
		}
	}
}
