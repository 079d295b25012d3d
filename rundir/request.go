package rundir

import (
	"fmt"
	"os"
	"path/filepath"
)

func (d Dir) probeRequest() string { return filepath.Join(string(d), "probe") }

// AskProbe requests the worker of this data directory to probe the providers' tools again.
func (d Dir) AskProbe() error {
	return diskErrorOrNil("ask for a probe", os.WriteFile(d.probeRequest(), nil, 0o600))
}

// ProbePath returns the path of a record that is written only to test whether records can be written.
func (d Dir) ProbePath() string { return filepath.Join(d.runs(), "probe") }

// RemoveRecord removes what WriteRecord wrote.
func RemoveRecord(path string) error {
	if err := os.Remove(path); err != nil {
		return fmt.Errorf("remove record: %w", err)
	}
	return nil
}

// TakeProbeRequest reports whether a probe was requested since the last call.
func (d Dir) TakeProbeRequest() bool { return os.Remove(d.probeRequest()) == nil }
