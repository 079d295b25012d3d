// Package web holds the browser app: its sources, and through Files what the
// build made of them. A checkout in which the app was never built compiles too;
// its server says at / that there is no page.
package web

import (
	"embed"
	"io/fs"
)

//go:embed all:dist
var dist embed.FS

// Files is the built app with index.html at its root, or nil when this binary
// was built without it.
func Files() fs.FS {
	files, err := fs.Sub(dist, "dist")
	if err != nil {
		return nil
	}
	if _, err := fs.Stat(files, "index.html"); err != nil {
		return nil
	}
	return files
}
