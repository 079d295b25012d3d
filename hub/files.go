package hub

import "path/filepath"

// fileReports tells which files of the hub's folder were written and removed on purpose, by their paths below it. A nil one tells nobody.
type fileReports struct {
	dir              string
	written, removed func(path string)
}

func (f *fileReports) wrote(paths ...string)   { f.report(false, paths) }
func (f *fileReports) dropped(paths ...string) { f.report(true, paths) }

func (f *fileReports) report(removed bool, paths []string) {
	if f == nil {
		return
	}
	for _, path := range paths {
		below, err := filepath.Rel(f.dir, path)
		switch {
		case err != nil: // not ours
		case removed:
			f.removed(below)
		default:
			f.written(below)
		}
	}
}
