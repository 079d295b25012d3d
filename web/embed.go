// Package web embeds the browser app. The folder has its sources, and Files
// returns the build's output. A checkout in which the app was never built also
// compiles; its server then answers at / that there is no page.
package web

import (
	"embed"
	"io/fs"
)

//go:embed all:dist
var dist embed.FS

// Files returns the built app with index.html at its root, or nil when this
// binary was built without the app.
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
