package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"svc"
	"svc/api"
	"svc/safetext"
)

func (a *app) runDiff() *cobra.Command {
	var q api.ChangeQuery
	var stat bool
	cmd := &cobra.Command{
		Use: "diff RUN", Short: "Print what a run has changed", Args: takes("RUN"), ValidArgsFunction: a.completes(runNames),
		Long: "Print what a run has changed in its working copy: since the commit that its work is based on, or since an earlier\n" +
			"checkpoint. It comes from the orchestrator's copy, even when the host is away. On a terminal it has colours and is shown\n" +
			"with your PAGER (less, if it is not set; cat for none), without control sequences of the agent; elsewhere it is\n" +
			"the patch as git apply accepts it.",
		Example: "  svc run diff 1a2b3c4d\n  svc run diff 1a2b3c4d --stat\n  svc run diff 1a2b3c4d --since 3 | git apply",
		RunE: a.calls(func(ctx context.Context, c *api.Client, args []string) error {
			w, err := a.workspaceOfRun(ctx, c, args[0])
			if err != nil {
				return err
			}
			if stat {
				return a.diffStat(ctx, c, w, q)
			}
			if a.output != "table" {
				return usage("", "-o can only be used with --stat")
			}
			body, err := c.Diff(ctx, w.ID, q)
			if err != nil {
				return err
			}
			defer body.Close()
			if !isTerminal(a.out) {
				_, err = io.Copy(a.out.raw(), body)
				return err
			}
			return a.page(ctx, func(to io.Writer) error {
				if a.coloured(a.out) {
					to = &diffColours{to: to}
				}
				_, err := io.Copy(&logWriter{to: to, keep: safetext.Plain()}, body) // without control sequences: an agent wrote the text
				return err
			})
		}),
	}
	cmd.Flags().IntVar(&q.Checkpoint, "checkpoint", 0, "`NUMBER` of an earlier checkpoint; default: the newest that the orchestrator has")
	cmd.Flags().IntVar(&q.Since, "since", 0, "compare with this earlier checkpoint, by its `NUMBER`")
	cmd.Flags().BoolVar(&stat, "stat", false, "list the files with the numbers of added and removed lines")
	return a.both(cmd)
}

// changedFiles describes how the files of a change are printed.
var changedFiles = view[svc.ChangedFile]{
	empty: "nothing has changed",
	name:  func(f svc.ChangedFile) string { return f.Path },
	columns: []column[svc.ChangedFile]{
		{head: "STATUS", cell: func(f svc.ChangedFile) string { return f.Status }},
		{head: "+", cell: func(f svc.ChangedFile) string { return lineWords(f, f.Additions) }, tone: func(svc.ChangedFile) tone { return good }},
		{head: "-", cell: func(f svc.ChangedFile) string { return lineWords(f, f.Deletions) }, tone: func(svc.ChangedFile) tone { return bad }},
		{head: "FILE", cell: fileWords, flex: true},
	},
}

func lineWords(f svc.ChangedFile, lines int) string {
	if f.Binary {
		return "binary"
	}
	return fmt.Sprint(lines)
}

// fileWords returns a file's name, with its former name and a change of its mode.
func fileWords(f svc.ChangedFile) string {
	words := f.Path
	if f.OldPath != "" {
		words = f.OldPath + " => " + f.Path
	}
	if f.OldMode != "" && f.Mode != "" {
		words += fmt.Sprintf(" (mode %s => %s)", f.OldMode, f.Mode)
	}
	if f.TooLarge {
		words += " (large)"
	}
	return words
}

func (a *app) diffStat(ctx context.Context, c *api.Client, w svc.Workspace, q api.ChangeQuery) error {
	change, err := c.Change(ctx, w.ID, q)
	if err != nil {
		return err
	}
	if a.output == "json" {
		return a.printJSON(change)
	}
	if err := printList(a, changedFiles, change.Files); err != nil || a.output != "table" {
		return err
	}
	additions, deletions := 0, 0
	for _, f := range change.Files {
		additions, deletions = additions+f.Additions, deletions+f.Deletions
	}
	against := "its base"
	if change.Since > 0 {
		against = fmt.Sprintf("checkpoint %d", change.Since)
	}
	a.note("checkpoint %d against %s: +%d -%d in %s", change.Checkpoint, against, additions, deletions, count(len(change.Files), "file"))
	if change.Truncated {
		a.note("the list is incomplete: there are more files, or files that are too large to be compared")
	}
	return nil
}

// page shows a text with the user's pager.
func (a *app) page(ctx context.Context, write func(io.Writer) error) error {
	pager := a.getenv("PAGER")
	if pager == "" {
		pager = "less"
	}
	program, _, _ := strings.Cut(pager, " ")
	if _, err := exec.LookPath(program); err != nil || pager == "cat" {
		return write(a.out.raw())
	}
	cmd := exec.CommandContext(ctx, "sh", "-c", pager)
	cmd.Env = append([]string{"LESS=FRX", "LV=-c"}, a.env...) // less keeps colours, and ends by itself when the text fits on the screen
	cmd.Stdout, cmd.Stderr = a.out.raw(), a.err.raw()
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return write(a.out.raw())
	}
	err = write(in)
	if errors.Is(err, syscall.EPIPE) {
		err = nil // the user has closed the pager
	}
	_ = in.Close()
	return errors.Join(err, cmd.Wait())
}

// diffColours colours the lines of a patch by their first characters.
type diffColours struct {
	to   io.Writer
	rest []byte
}

func (d *diffColours) Write(p []byte) (int, error) {
	d.rest = append(d.rest, p...)
	for {
		line, rest, whole := bytes.Cut(d.rest, []byte("\n"))
		if !whole {
			return len(p), nil
		}
		before, after := "", "\x1b[0m"
		switch {
		case bytes.HasPrefix(line, []byte("diff ")), bytes.HasPrefix(line, []byte("+++ ")), bytes.HasPrefix(line, []byte("--- ")):
			before = "\x1b[1m"
		case bytes.HasPrefix(line, []byte("+")):
			before = "\x1b[32m"
		case bytes.HasPrefix(line, []byte("-")):
			before = "\x1b[31m"
		case bytes.HasPrefix(line, []byte("@@")):
			before = "\x1b[36m"
		default:
			after = ""
		}
		if _, err := fmt.Fprintf(d.to, "%s%s%s\n", before, line, after); err != nil {
			return 0, err
		}
		d.rest = rest
	}
}
