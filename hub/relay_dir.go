package hub

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"svc"
)

// relayDir is the folder of relayed files. It has one folder per run, with these files: <attempt>.log for each
// attempt, <attempt>.end with its final length, <attempt>.times with the times at which its bytes were written, and
// pane.json with the last screen. Only the orchestrator's user can read the files, because terminals show secrets.
type relayDir string

func (d relayDir) run(runID string) string  { return filepath.Join(string(d), runID) }
func (d relayDir) pane(runID string) string { return filepath.Join(d.run(runID), "pane.json") }
func (d relayDir) log(runID string, attempt int) string {
	return filepath.Join(d.run(runID), strconv.Itoa(attempt)+".log")
}

func (d relayDir) end(runID string, attempt int) string {
	return filepath.Join(d.run(runID), strconv.Itoa(attempt)+".end")
}

func (d relayDir) times(runID string, attempt int) string {
	return filepath.Join(d.run(runID), strconv.Itoa(attempt)+timesSuffix)
}

// timesSuffix is the suffix of a file of times.
const timesSuffix = ".times"

// noEnd is the length of a log that may still grow, or whose final length was not reported.
const noEnd = -1

// readEnd reads the stored end of an attempt's log. A complete file ends with a line end; a file without one was cut
// short by a crash and is ignored.
func (d relayDir) readEnd(runID string, attempt int) (logEnd, error) {
	unknown := logEnd{length: noEnd}
	text, err := os.ReadFile(d.end(runID, attempt))
	if errors.Is(err, fs.ErrNotExist) {
		return unknown, nil
	}
	if err != nil {
		return unknown, err
	}
	line, closed := strings.CutSuffix(string(text), "\n")
	digits, cut, _ := strings.Cut(line, " cut ")
	n, err := strconv.ParseInt(digits, 10, 64)
	if !closed || err != nil || n < 0 {
		return unknown, nil //nolint:nilerr // it is told again
	}
	return logEnd{length: n, cut: cutBy(cut)}, nil
}

// writeEnd stores the end: the length, and after a cut also " cut " with the limit.
func (d relayDir) writeEnd(runID string, attempt int, end logEnd) error {
	text := strconv.FormatInt(end.length, 10)
	if end.cut != "" {
		text += " cut " + string(end.cut)
	}
	return os.WriteFile(d.end(runID, attempt), []byte(text+"\n"), 0o600)
}

// check returns an error for an id that must never become part of a path.
func (d relayDir) check(runID string) error {
	if !svc.IsID(runID) {
		return fmt.Errorf("%q is not the id of a run", runID)
	}
	return nil
}

// attempts lists the attempts that have a log, in order.
func (d relayDir) attempts(runID string) ([]int, error) {
	entries, err := os.ReadDir(d.run(runID))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list logs of run %s: %w", runID, err)
	}
	var attempts []int
	for _, e := range entries {
		if n, ok := attemptOf(e.Name(), ".log"); ok {
			attempts = append(attempts, n)
		}
	}
	slices.Sort(attempts)
	return attempts, nil
}

func attemptOf(name, suffix string) (int, bool) {
	digits, ok := strings.CutSuffix(name, suffix)
	if !ok {
		return 0, false
	}
	n, err := strconv.Atoi(digits)
	return n, err == nil && n > 0
}

// purge removes the files of runs that are not live which match fits and were last written before the given time, and
// folders that become empty. It returns how many files it removed.
func (d relayDir) purge(before time.Time, live func(runID string) bool, fits func(name string) bool, files *fileReports) (int, error) {
	runs, err := os.ReadDir(string(d))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("list relayed runs: %w", err)
	}
	removed := 0
	var problems []error
	for _, run := range runs {
		if !run.IsDir() || !svc.IsID(run.Name()) || live(run.Name()) {
			continue
		}
		n, err := d.purgeRun(run.Name(), before, fits, files)
		removed += n
		problems = append(problems, err)
	}
	return removed, errors.Join(problems...)
}

func (d relayDir) purgeRun(runID string, before time.Time, fits func(name string) bool, reports *fileReports) (int, error) {
	files, err := os.ReadDir(d.run(runID))
	if err != nil {
		return 0, fmt.Errorf("list relayed files of run %s: %w", runID, err)
	}
	removed, left := 0, len(files)
	for _, f := range files {
		info, err := f.Info()
		if err != nil || !fits(f.Name()) || !info.ModTime().Before(before) || d.hasLog(runID, f.Name()) {
			continue
		}
		path := filepath.Join(d.run(runID), f.Name())
		if err := os.Remove(path); err != nil {
			return removed, fmt.Errorf("purge relayed files of run %s: %w", runID, err)
		}
		reports.dropped(path)
		removed++
		left--
	}
	if left == 0 {
		_ = os.Remove(d.run(runID)) // fails when a file was added meanwhile: then the folder stays
	}
	return removed, nil
}

// hasLog reports whether the file holds the times of a log that still exists. Such a file is removed only after its
// log. In the order of the folder the log comes first.
func (d relayDir) hasLog(runID, name string) bool {
	attempt, ok := attemptOf(name, timesSuffix)
	if !ok {
		return false
	}
	_, err := os.Lstat(d.log(runID, attempt))
	return err == nil
}

// Sizes calls each for every run that has logs, with the size of each attempt's log and times in bytes.
func (r *Relay) Sizes(each func(runID string, attempts map[int]int64) error) error {
	runs, err := os.ReadDir(string(r.dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("list relayed runs: %w", err)
	}
	for _, run := range runs {
		if !svc.IsID(run.Name()) {
			continue
		}
		files, _ := os.ReadDir(r.dir.run(run.Name())) // removed meanwhile: it has no files
		attempts := map[int]int64{}
		for _, f := range files {
			for _, suffix := range []string{".log", timesSuffix} {
				if n, ok := attemptOf(f.Name(), suffix); ok {
					attempts[n] += sizeOf(f)
				}
			}
		}
		if err := each(run.Name(), attempts); err != nil {
			return err
		}
	}
	return nil
}
