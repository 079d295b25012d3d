package cli

import (
	"bufio"
	"context"
	"os"
	"slices"
	"strings"

	"svc"
	"svc/wire"
)

// inboxScreen is the live view of the inbox on a terminal.
type inboxScreen struct {
	*live
	footer

	snoozed bool // snoozed entries are shown too
	items   []svc.InboxItem
	chosen  string // inbox key of the selected entry, on which key presses act; empty: none
}

func (v *inboxScreen) read(ctx context.Context) error {
	items, err := collect(v.client.AllInbox(ctx, v.snoozed))
	if err != nil {
		return err
	}
	at := max(v.at(), 0)
	v.items = items
	if v.at() < 0 { // the entry is gone: the one that took its place is selected
		v.chosen = ""
		if len(items) > 0 {
			v.chosen = items[min(at, len(items)-1)].Key
		}
	}
	return nil
}

// at returns the index of the selected entry; negative: there is none.
func (v *inboxScreen) at() int {
	return slices.IndexFunc(v.items, func(i svc.InboxItem) bool { return i.Key == v.chosen })
}

func (v *inboxScreen) press(ctx context.Context, key string) (leave func(context.Context) error, err error) {
	v.message = ""
	switch key {
	case "q":
		return nil, errQuit
	case "\x03":
		return nil, exitCode(exitInterrupted)
	}
	at := v.at()
	if at < 0 {
		return nil, nil
	}
	switch item := v.items[at]; key {
	case "j", "\x1b[B", "\x1bOB":
		v.chosen = v.items[min(at+1, len(v.items)-1)].Key
	case "k", "\x1b[A", "\x1bOA":
		v.chosen = v.items[max(at-1, 0)].Key
	case "d":
		if _, err := v.client.DismissInbox(ctx, item.Key); err != nil {
			v.outcome(err)
		} else {
			v.message = "dismissed " + shortKey(item.Key)
		}
	case "\r", "a":
		if item.RunID == nil {
			v.message = "this entry is of no run"
		} else if key == "a" && item.Kind != svc.InboxNeedsInput {
			v.message = "nothing was asked; Enter attaches"
		} else if key == "a" {
			return func(ctx context.Context) error { return v.answer(ctx, item) }, nil
		} else {
			return func(ctx context.Context) error { return v.attachTo(ctx, *item.RunID) }, nil
		}
	}
	return nil, nil
}

func (v *inboxScreen) attachTo(ctx context.Context, runID string) error {
	r, err := v.client.Run(ctx, runID)
	if err != nil {
		return err
	}
	out, _ := v.live.app.out.raw().(*os.File) // newLive has checked this
	return v.live.app.attach(ctx, v.client, r, &screen{in: v.in, out: out})
}

// answer reads a line from the user and types it into the run's session. An empty line sends nothing.
func (v *inboxScreen) answer(ctx context.Context, item svc.InboxItem) error {
	a := v.live.app
	a.out.printf("%s\n%s\n%s", a.stylesFor(a.out).bold.Render(item.Title), a.stylesFor(a.out).warn.Render(item.Text), a.stylesFor(a.out).dim.Render("answer (empty: none): "))
	line, err := bufio.NewReader(v.in).ReadString('\n')
	if err != nil || strings.TrimSpace(line) == "" {
		return nil //nolint:nilerr // the end of input is no answer
	}
	if err := v.client.SendKeys(ctx, *item.RunID, []string{wire.KeyText + strings.TrimRight(line, "\r\n"), "Enter"}); err != nil {
		return err
	}
	v.message = "answered " + shortKey(item.Key)
	return nil
}

// draw shows the part of the list around the selected entry.
func (v *inboxScreen) draw() {
	a := v.live.app
	page := &page{to: a.out.raw()}
	screen := a.out
	a.out = newStream(page)
	if len(v.items) == 0 {
		a.out.println("nothing needs you")
	} else {
		_, rows := size(a.out)
		room := max(rows-4, 1) // minus the table's head and the line below
		first := max(0, min(v.at()-room/2, len(v.items)-room))
		mark := column[svc.InboxItem]{head: " ", cell: func(i svc.InboxItem) string {
			if i.Key == v.chosen {
				return ">"
			}
			return " "
		}}
		printTable(a, append([]column[svc.InboxItem]{mark}, a.inboxView().columns...), v.items[first:min(len(v.items), first+room)])
	}
	a.out = screen
	v.canvas.draw(page.String(), v.line("↑↓ choose · Enter attach · a answer · d dismiss · q quit"))
}
