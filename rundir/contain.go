package rundir

import "path/filepath"

// Contain describes how bubblewrap contains a session: the session has a process namespace of its own, and sees
// the machine's files except the hidden ones.
type Contain struct {
	Bwrap  string   `json:"bwrap"`  // the program, an absolute path
	Inside []string `json:"inside"` // the command that is the first process of the namespace
	// Hide are the folders and files that the session does not see; missing ones are ignored.
	Hide []string `json:"hide"`
	// Empty are folders that the session sees as empty. It may write to them, and the content is lost at its
	// end.
	Empty []string `json:"empty,omitempty"`
	// Show are paths below hidden folders that the session nevertheless sees and may write to.
	Show []string `json:"show,omitempty"`
}

// Hides reports whether a path is in a hidden folder and not in a shown one. Links are not followed.
func (c Contain) Hides(path string) bool { return within(path, c.Hide) && !within(path, c.Show) }

// within reports whether a path is one of the folders or below one.
func within(path string, folders []string) bool {
	for _, folder := range folders {
		rest, err := filepath.Rel(folder, path)
		if err == nil && filepath.IsLocal(rest) {
			return true
		}
	}
	return false
}
