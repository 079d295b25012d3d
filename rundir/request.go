package rundir

import (
	"os"
	"path/filepath"
)

func (d Dir) probeRequest() string { return filepath.Join(string(d), "probe") }

// AskProbe asks the worker of this data directory to look for the providers' tools again.
func (d Dir) AskProbe() error {
	return diskErrorOrNil("ask for a probe", os.WriteFile(d.probeRequest(), nil, 0o600))
}

// TakeProbeRequest says whether someone asked since it was last called.
func (d Dir) TakeProbeRequest() bool { return os.Remove(d.probeRequest()) == nil }
