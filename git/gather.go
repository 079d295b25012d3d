package git

import (
	"errors"
	"os"
)

// mostGathered is how many new objects are open at a time.
const mostGathered = 64

// Gathered are new objects whose content is on its way to the disk. They get their names, and can be read, when Flush returns.
type Gathered struct {
	files []*os.File
	names []string
}

// Gather returns the repository in a form that stores several objects about as fast as one: it does not wait for the disk after each of
// them. The caller calls Flush before it records anything that refers to them, and Close in the end.
func (r Repo) Gather() (Repo, *Gathered) {
	r.gathered = &Gathered{}
	return r, r.gathered
}

// put takes over a file that has its content, and the name that it gets.
func (g *Gathered) put(f *os.File, name string) error {
	g.files, g.names = append(g.files, f), append(g.names, name)
	startWriteOut(f)
	if len(g.files) < mostGathered {
		return nil
	}
	return g.Flush()
}

// Flush waits for the disk and gives all objects their names.
func (g *Gathered) Flush() error {
	for len(g.files) > 0 {
		f, name := g.files[0], g.names[0]
		g.files, g.names = g.files[1:], g.names[1:]
		if err := finishObject(f, name); err != nil {
			return errors.Join(err, g.Close())
		}
	}
	return nil
}

// Close removes the objects that were not flushed.
func (g *Gathered) Close() error {
	var err error
	for _, f := range g.files {
		err = errors.Join(err, f.Close(), os.Remove(f.Name()))
	}
	g.files, g.names = nil, nil
	return err
}
