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

// relayDir is the folder of what workers relayed: one folder per run, in it
// <attempt>.log for each attempt, <attempt>.end with the length that it has in
// the end, <attempt>.times with when its bytes were written, and pane.json for the last screen. Everything
// is readable by the orchestrator's user alone, since terminals show secrets.
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

// timesSuffix is how the name of a file of times ends.
const timesSuffix = ".times"

// noEnd is the length of a log that may still grow, or whose end nobody told.
const noEnd = -1

// readEnd is what is noted of the end of an attempt's log. A line
// end closes the note: what a crash cut short says nothing.
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

// writeEnd notes the end: its length, and " cut " with the bound that cut it.
func (d relayDir) writeEnd(runID string, attempt int, end logEnd) error {
	text := strconv.FormatInt(end.length, 10)
	if end.cut != "" {
		text += " cut " + string(end.cut)
	}
	return os.WriteFile(d.end(runID, attempt), []byte(text+"\n"), 0o600)
}

// check refuses what must never become part of a path.
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

// purge removes the files of finished runs that fit and were last written
// before the time, and folders that are empty then. It returns how many files
// went.
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

func (d relayDir) purgeRun(runID string, before time.Time, fits func(name string) bool, told *fileReports) (int, error) {
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
		told.dropped(path)
		removed++
		left--
	}
	if left == 0 {
		_ = os.Remove(d.run(runID)) // someone wrote into it meanwhile: it stays
	}
	return removed, nil
}

// hasLog reports whether a file has the times of a log that is here: they go with it, which comes before them in the folder's order.
func (d relayDir) hasLog(runID, name string) bool {
	attempt, ok := attemptOf(name, timesSuffix)
	if !ok {
		return false
	}
	_, err := os.Lstat(d.log(runID, attempt))
	return err == nil
}

// Sizes tells of each run that has logs how many bytes each attempt's has, with its times.
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
		files, _ := os.ReadDir(r.dir.run(run.Name())) // purged meanwhile: it has none
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
