package worker

import (
	"svc/rundir"
	"svc/tmux"
)

func (s *session) timesPath() string { return s.w.dir.TimesPath(s.a.RunID, s.a.Number) }

// beginTimes creates the file of times that makes a recording of the log. If that fails, the run goes on
// without a recording.
func (s *session) beginTimes() {
	if err := rundir.MakeTimes(s.timesPath(), s.rec.LogBase, tmux.DefaultCols, tmux.DefaultRows, s.w.opts.Now()); err != nil {
		s.log.Warn("the run has no recording", "error", err)
	}
}

// noteSize records that the terminal is resized now.
func (s *session) noteSize(size paneSize) {
	t := rundir.OpenTimes(s.timesPath())
	if t == nil {
		return
	}
	defer t.Close()
	t.Resized(size.cols, size.rows, fileSize(s.w.dir.LogPath(s.a.RunID)))
}
