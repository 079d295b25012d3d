package worker

import (
	"svc/rundir"
	"svc/tmux"
)

func (s *session) timesPath() string { return s.w.dir.TimesPath(s.a.RunID, s.a.Number) }

// beginTimes begins to note when the log is written. A run without a recording is better than none.
func (s *session) beginTimes() {
	if err := rundir.MakeTimes(s.timesPath(), s.rec.LogBase, tmux.DefaultCols, tmux.DefaultRows, s.w.opts.Now()); err != nil {
		s.log.Warn("the run has no recording", "error", err)
	}
}

// noteSize notes that the terminal gets a size now.
func (s *session) noteSize(size paneSize) {
	t := rundir.OpenTimes(s.timesPath())
	if t == nil {
		return
	}
	defer t.Close()
	t.Resized(size.cols, size.rows, fileSize(s.w.dir.LogPath(s.a.RunID)))
}
