package hub

import "path/filepath"

// fileReports reports which files of the hub's folder were written or deliberately removed, by their paths below that
// folder. A nil *fileReports reports nothing.
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
		case err != nil: // outside the hub's folder
		case removed:
			f.removed(below)
		default:
			f.written(below)
		}
	}
}
