package rundir

import "path/filepath"

// Contain says how a session is kept from the rest of the machine, with bubblewrap: it has a process
// namespace of its own, and sees the machine's files but for some.
type Contain struct {
	Bwrap  string   `json:"bwrap"`  // the program, an absolute path
	Inside []string `json:"inside"` // the command that is the first process of the namespace
	// Hide are the folders and files that it does not see; those that are missing are left out.
	Hide []string `json:"hide"`
	// Empty are folders that it sees empty and may write to, for as long as it lives.
	Empty []string `json:"empty,omitempty"`
	// Show is what it sees though it is below a hidden folder, and may write to.
	Show []string `json:"show,omitempty"`
}

// Hides reports whether a path is in a hidden folder and is not shown. Links are not followed.
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
