package cli

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"

	"svc"
	"svc/api"
)

func (a *app) topCommand() *cobra.Command {
	return a.asking(&cobra.Command{
		Use: "top", Short: "The fleet, live in the terminal", Args: takes(),
		Long: "Show the fleet live: the runs that need you first, then those that run, with their last line and its age, then the\n" +
			"hosts. Up and Down choose a run, Enter attaches to it, l shows the end of its log, s stops it, q quits.\n" +
			"--timeout bounds how long each request to the orchestrator may take.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			l := newLive(a, nil)
			if l == nil {
				return usage("`svc status --watch` writes one answer after the other", "`svc top` needs a terminal")
			}
			var err error
			if l.client, err = a.client(); err != nil {
				return err
			}
			return l.run(cmd.Context(), &top{live: l, footer: footer{app: a}, lines: map[string]lastLine{}})
		},
	})
}

// top is the live view of the fleet.
type top struct {
	*live
	footer

	status status
	lines  map[string]lastLine // by run id
	chosen string              // the selected run, on which key presses act; empty: none
	asking string              // the run whose stop must be confirmed; empty: none
}

// lastLine is the last line of a run's screen.
type lastLine struct {
	of   svc.Time  // the run's LastOutputAt when the line was read
	seen time.Time // when this program first saw that LastOutputAt
	text string
}

// screenLag is how long a run's screen is read again after its LastOutputAt has changed: the screen reaches the
// orchestrator in another way than the output, and later.
const screenLag = 10 * time.Second

func (t *top) read(ctx context.Context) error {
	s, err := t.live.app.readStatus(ctx, t.client)
	if err != nil {
		return err
	}
	t.status = s
	if runs := t.runs(); !slices.ContainsFunc(runs, func(r svc.Run) bool { return r.ID == t.chosen }) {
		t.chosen = ""
		if len(runs) > 0 {
			t.chosen = runs[0].ID
		}
	}
	t.readLines(ctx)
	return nil
}

// runs returns the runs that can be selected, in the order of the screen.
func (t *top) runs() (runs []svc.Run) {
	for _, r := range slices.Concat(t.status.NeedsYou, t.status.Active) {
		runs = append(runs, r.Run)
	}
	return runs
}

// readLines reads the screens of those runs in the window that had new output within screenLag.
func (t *top) readLines(ctx context.Context) {
	known := map[string]lastLine{}
	first, last := t.window(len(t.runs()))
	for _, r := range t.runs()[first:last] {
		line := t.lines[r.ID]
		if r.LastOutputAt != nil && line.of != *r.LastOutputAt {
			line.of, line.seen = *r.LastOutputAt, time.Now()
		}
		if time.Since(line.seen) < screenLag {
			if pane, err := t.client.Pane(ctx, r.ID); err == nil {
				line.text = bottomLine(pane.Capture)
			}
		}
		known[r.ID] = line
	}
	t.lines = known
}

// bottomLine returns the last line of a screen that is not empty.
func bottomLine(screen string) string {
	lines := strings.Split(ansi.Strip(screen), "\n")
	for _, line := range slices.Backward(lines) {
		if line = strings.TrimSpace(line); line != "" {
			return line
		}
	}
	return ""
}

func (t *top) press(ctx context.Context, key string) (leave func(context.Context) error, err error) {
	stop := t.asking
	t.message, t.asking = "", ""
	if stop != "" {
		if key == "y" {
			t.stopRun(ctx, stop)
		}
		return nil, nil
	}
	switch key {
	case "q":
		return nil, errQuit
	case "\x03":
		return nil, exitCode(exitInterrupted)
	case "j", "\x1b[B", "\x1bOB":
		t.move(1)
	case "k", "\x1b[A", "\x1bOA":
		t.move(-1)
	case "s":
		t.asking = t.chosen
	case "\r":
		return t.attach(), nil
	case "l":
		return t.log(), nil
	}
	return nil, nil
}

func (t *top) move(by int) {
	runs := t.runs()
	at := slices.IndexFunc(runs, func(r svc.Run) bool { return r.ID == t.chosen })
	if at >= 0 {
		t.chosen = runs[min(max(at+by, 0), len(runs)-1)].ID
	}
}

func (t *top) stopRun(ctx context.Context, id string) {
	r, err := t.client.StopRun(ctx, id)
	if err == nil {
		t.message = "run " + shortRun(id) + " is " + runWord(r)
	}
	t.outcome(err)
}

func (t *top) attach() func(context.Context) error {
	for _, r := range t.runs() {
		if r.ID == t.chosen {
			out, _ := t.live.app.out.raw().(*os.File) // newLive has checked this
			return func(ctx context.Context) error {
				return t.live.app.attach(ctx, t.client, r, &screen{in: t.in, out: out})
			}
		}
	}
	return nil
}

// log shows the end of the selected run's log and waits for a key.
func (t *top) log() func(context.Context) error {
	id := t.chosen
	if id == "" {
		return nil
	}
	_, rows := size(t.live.app.out)
	return func(ctx context.Context) error {
		tail := max(rows-3, 1)
		if err := t.live.app.copyLog(ctx, t.client, id, api.LogOptions{Tail: &tail}, nil); err != nil {
			return err
		}
		t.live.app.out.printf("\n%s", t.live.app.stylesFor(t.live.app.out).dim.Render("the end of the log of run "+shortRun(id)+"; Enter goes back"))
		_, err := t.in.Read(make([]byte, 256)) // reads a whole line, because the terminal is not in raw mode
		return err
	}
}

func (t *top) draw() {
	page := &page{to: t.live.app.out.raw()}
	screen := t.live.app.out
	t.live.app.out = newStream(page)
	t.print()
	t.live.app.out = screen
	below := t.line("↑↓ choose · Enter attach · l log · s stop · q quit")
	if t.asking != "" {
		below = "stop run " + shortRun(t.asking) + "? y stops it, any other key does not"
	}
	t.canvas.draw(page.String(), below)
}

func (t *top) print() {
	a, s := t.live.app, t.status
	st := a.stylesFor(a.out)
	a.out.printf("%s  %d need you, %d active, %d hosts  %s\n\n", st.bold.Render("svc top"), len(s.NeedsYou), len(s.Active), len(s.Hosts), a.now().Format("15:04:05"))
	runs := t.runs()
	if len(runs) == 0 {
		a.out.println("nothing runs")
	} else {
		first, last := t.window(len(runs))
		printTable(a, t.columns(), runs[first:last])
		if hidden := len(runs) - (last - first); hidden > 0 {
			a.out.printf("%s\n", st.dim.Render(fmt.Sprintf("… and %d more", hidden)))
		}
	}
	a.out.println()
	printTable(a, []column[svc.Host]{
		{head: "HOST", cell: func(h svc.Host) string { return h.Name }},
		{head: "STATE", cell: a.hostState, flex: true},
		{head: "RUNS", cell: func(h svc.Host) string { return strconv.Itoa(h.ActiveRuns) }},
		{head: "SEEN", cell: func(h svc.Host) string { return a.when(h.LastSeenAt) }},
	}, s.Hosts)
}

// columns are the columns of the runs. The selected run is marked with a character, not with a colour.
func (t *top) columns() []column[svc.Run] {
	a := t.live.app
	return []column[svc.Run]{
		{head: " ", cell: func(r svc.Run) string {
			if r.ID == t.chosen {
				return ">"
			}
			return " "
		}},
		{head: "RUN", cell: func(r svc.Run) string { return shortRun(r.ID) }},
		{head: "TASK", cell: func(r svc.Run) string { return r.TaskRef() }},
		{head: "TITLE", cell: func(r svc.Run) string { return r.TaskTitle }, flex: true},
		{head: "STATUS", cell: runWord, tone: runTone},
		{head: "OUTPUT", cell: func(r svc.Run) string { return a.when(r.LastOutputAt) }},
		{head: "LAST LINE", cell: func(r svc.Run) string {
			if note := runNote(r); note != "" {
				return note
			}
			return t.lines[r.ID].text
		}, flex: true},
	}
}

// window returns the range of n runs that is shown. It contains the selected run, and leaves up to a third of the
// screen for the hosts.
func (t *top) window(n int) (first, last int) {
	_, rows := size(t.live.app.out)
	const around = 7 // title, heads, empty lines, the line below
	room := max(rows-around-min(len(t.status.Hosts), rows/3), 1)
	at := max(slices.IndexFunc(t.runs(), func(r svc.Run) bool { return r.ID == t.chosen }), 0)
	first = max(0, min(at-room/2, n-room))
	return first, min(n, first+room)
}
