package main

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"text/tabwriter"
	"time"
)

// missedFactor is the factor beyond its limit from which on a figure fails the run. Below it the figure is shown as
// near, because the next run may differ.
const missedFactor = 1.10

// report collects the rows of the table.
type report struct {
	began  time.Time
	target string
	rows   []row
}

type row struct{ target, what, measured, limit, verdict string }

// note writes progress to stderr, so that a long run is not silent.
func (r *report) note(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "%6.1fs %-8s %s\n", time.Since(r.began).Seconds(), r.target, fmt.Sprintf(format, args...))
}

func (r *report) add(what, measured, limit, verdict string) {
	r.rows = append(r.rows, row{r.target, what, measured, limit, verdict})
	r.note("%s: %s (%s) %s", what, measured, limit, verdict)
}

// info adds a figure without a target.
func (r *report) info(what, format string, args ...any) {
	r.add(what, fmt.Sprintf(format, args...), "", "")
}

// atMost checks a figure that must not be larger than its limit.
func (r *report) atMost(what string, value, limit float64, unit string) {
	r.add(what, figure(value)+unit, "at most "+figure(limit)+unit, verdict(value/limit))
}

// atLeast checks a figure that must not be smaller than its limit.
func (r *report) atLeast(what string, value, limit float64, unit string) {
	ratio := 100.0
	if value > 0 {
		ratio = limit / value
	}
	r.add(what, figure(value)+unit, "at least "+figure(limit)+unit, verdict(ratio))
}

// none checks that something did not happen at all.
func (r *report) none(what string, n int) {
	v := "ok"
	if n != 0 {
		v = "MISSED"
	}
	r.add(what, fmt.Sprint(n), "none", v)
}

// fail adds a target that could not be measured.
func (r *report) fail(err error) { r.add("could not be measured", err.Error(), "", "MISSED") }

// verdict returns the verdict for the share of a limit that was used.
func verdict(used float64) string {
	switch {
	case used <= 1:
		return "ok"
	case used <= missedFactor:
		return "near"
	default:
		return "MISSED"
	}
}

func (r *report) missed() bool {
	for _, row := range r.rows {
		if row.verdict == "MISSED" {
			return true
		}
	}
	return len(r.rows) == 0 // a run without measurements fails
}

func (r *report) print(out io.Writer) {
	fmt.Fprintf(out, "\nsvc benchmarks, %s, %s/%s, %d cores, load %s\n\n", r.began.Format(time.DateOnly), runtime.GOOS, runtime.GOARCH,
		runtime.NumCPU(), load())
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "TARGET\tWHAT\tMEASURED\tLIMIT\tVERDICT")
	for _, row := range r.rows {
		fmt.Fprintln(w, strings.Join([]string{row.target, row.what, row.measured, row.limit, row.verdict}, "\t"))
	}
	_ = w.Flush()
	fmt.Fprintf(out, "\ntook %s\n", time.Since(r.began).Round(time.Second))
}

// load returns the machine's load average, if the system has it.
func load() string {
	b, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	return strings.Join(strings.Fields(string(b))[:3], " ")
}
