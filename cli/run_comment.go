package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"svc"
	"svc/api"
)

// commentView describes how comments are printed.
func (a *app) commentView() view[svc.Comment] {
	return view[svc.Comment]{
		empty: "no comments; svc run comment RUN FILE:LINE TEXT makes one",
		name:  func(c svc.Comment) string { return c.ID },
		columns: []column[svc.Comment]{
			{head: "COMMENT", cell: func(c svc.Comment) string { return a.short(c.ID, shortRecent) }},
			{head: "STATE", cell: commentState},
			{head: "PLACE", cell: commentPlace},
			{head: "BY", cell: func(c svc.Comment) string { return c.Author }},
			{head: "TEXT", cell: commentText, flex: true},
		},
	}
}

// commentState returns a comment's state and, when its delivery is not confirmed, the state and reason of that.
func commentState(c svc.Comment) string {
	if c.DeliveryReason == "" {
		return string(c.State)
	}
	return string(c.State) + ", " + messageState(svc.Message{State: c.Delivery, Reason: c.DeliveryReason})
}

// commentPlace returns where a comment's lines are in the newest checkpoint.
func commentPlace(c svc.Comment) string {
	place := c.Path
	if c.Line != nil {
		place += ":" + strconv.Itoa(*c.Line)
	}
	switch {
	case c.Anchor == svc.AnchorGone:
		return place + " (gone)"
	case c.Anchor == svc.AnchorMoved && c.AnchorLine != nil:
		return fmt.Sprintf("%s:%d (was %s)", c.AnchorPath, *c.AnchorLine, place)
	case c.Anchor == svc.AnchorMoved:
		return fmt.Sprintf("%s (was %s)", c.AnchorPath, place)
	}
	return place
}

func commentText(c svc.Comment) string {
	line, _, _ := strings.Cut(c.Body, "\n")
	if c.Note != "" {
		line += " -> " + c.Note
	}
	return line
}

func (a *app) runComment() *cobra.Command {
	var resolve, remove string
	var body api.CreateComment
	var old bool
	cmd := &cobra.Command{
		Use: "comment RUN [FILE[:LINE[-LINE]] TEXT]", Short: "Comment on lines of what a run has changed", Args: takes("RUN", "[FILE]", "[TEXT]"),
		ValidArgsFunction: a.completes(runNames),
		Long: "Comment on a file of a run's change, or on lines of it that the patch shows. Without a file, list the comments, and where their\n" +
			"lines are in the newest checkpoint. Comments are drafts until svc run send; all users see them.",
		Example: "  svc run comment 1a2b3c4d main.go:12 'return the error'\n  svc run comment 1a2b3c4d\n  svc run comment 1a2b3c4d --resolve 5e6f7a8b",
		RunE: a.calls(func(ctx context.Context, c *api.Client, args []string) error {
			w, err := a.workspaceOfRun(ctx, c, args[0])
			if err != nil {
				return err
			}
			switch {
			case len(args) > 1 && (resolve != "" || remove != ""):
				return usage("", "--resolve and --delete are for existing comments")
			case len(args) == 2:
				return usage("svc run comment RUN FILE:LINE TEXT", "the text of the comment on %s is missing", args[1])
			case resolve != "":
				return a.resolveComment(ctx, c, w, resolve)
			case remove != "":
				return a.deleteComment(ctx, c, w, remove)
			case len(args) == 1:
				return a.listComments(ctx, c, w)
			}
			if body.Path, body.Line, body.EndLine, err = parsePlace(args[1]); err != nil {
				return err
			}
			if body.Body = args[2]; old {
				body.Side = svc.SideOld
			}
			made, err := c.CreateComment(ctx, w.ID, body)
			if err != nil {
				return err
			}
			return printDone(a, a.commentView(), made, "comment %s on %s is a draft; %s run send %s sends it", a.short(made.ID, shortRecent), commentPlace(made), a.self(), args[0])
		}),
	}
	cmd.Flags().IntVar(&body.Checkpoint, "checkpoint", 0, "`NUMBER` of the checkpoint that was read; default: the newest that the orchestrator has")
	cmd.Flags().BoolVar(&old, "old", false, "lines are counted in the file before the change")
	cmd.Flags().StringVar(&resolve, "resolve", "", "mark this `COMMENT` as resolved")
	cmd.Flags().StringVar(&remove, "delete", "", "delete this `COMMENT`")
	cmd.MarkFlagsMutuallyExclusive("resolve", "delete")
	return a.both(cmd)
}

// parsePlace parses FILE, FILE:LINE or FILE:LINE-LINE. FILE may have colons too.
func parsePlace(text string) (path string, line, end *int, err error) {
	i := strings.LastIndexByte(text, ':')
	if i < 0 {
		return text, nil, nil, nil
	}
	first, last, several := strings.Cut(text[i+1:], "-")
	n, wrong := strconv.Atoi(first)
	if wrong != nil { // the colon is part of the name
		return text, nil, nil, nil //nolint:nilerr // what is no number is no mistake
	}
	if !several {
		return text[:i], &n, nil, nil
	}
	m, err := strconv.Atoi(last)
	if err != nil {
		return "", nil, nil, usage("svc run comment RUN FILE:LINE-LINE TEXT", "%q is no place in a file", text)
	}
	return text[:i], &n, &m, nil
}

func (a *app) listComments(ctx context.Context, c *api.Client, w svc.Workspace) error {
	all, err := collect(c.AllComments(ctx, w.ID))
	if err != nil {
		return err
	}
	return printList(a, a.commentView(), all)
}

// theComment finds a comment by its id or a part of the id.
func (a *app) theComment(ctx context.Context, c *api.Client, w svc.Workspace, ref string) (svc.Comment, error) {
	all, err := collect(c.AllComments(ctx, w.ID))
	if err != nil {
		return svc.Comment{}, err
	}
	return pickComment(all, ref)
}

// pickComment returns the only comment whose id begins or ends with ref.
func pickComment(all []svc.Comment, ref string) (svc.Comment, error) {
	var found []svc.Comment
	for _, c := range all {
		if strings.HasPrefix(c.ID, ref) || strings.HasSuffix(c.ID, ref) {
			found = append(found, c)
		}
	}
	if len(found) != 1 {
		return svc.Comment{}, &problem{
			what: fmt.Sprintf("%d comments of this run have an id that begins or ends with %q", len(found), ref), next: "`svc run comment RUN` lists them", exit: exitNotFound,
		}
	}
	return found[0], nil
}

func (a *app) resolveComment(ctx context.Context, c *api.Client, w svc.Workspace, ref string) error {
	comment, err := a.theComment(ctx, c, w, ref)
	if err != nil {
		return err
	}
	comment, err = c.PatchComment(ctx, comment.ID, api.PatchComment{State: api.Some(svc.CommentResolved)})
	if err != nil {
		return err
	}
	return printDone(a, a.commentView(), comment, "comment %s is resolved", a.short(comment.ID, shortRecent))
}

func (a *app) deleteComment(ctx context.Context, c *api.Client, w svc.Workspace, ref string) error {
	comment, err := a.theComment(ctx, c, w, ref)
	if err != nil {
		return err
	}
	if err := c.DeleteComment(ctx, comment.ID); err != nil {
		return err
	}
	return printDone(a, a.commentView(), comment, "comment %s is deleted", a.short(comment.ID, shortRecent))
}

func (a *app) runSend() *cobra.Command {
	var body api.SendComments
	var preview bool
	cmd := &cobra.Command{
		Use: "send RUN", Short: "Send the comments on a run's change to its agent", Args: takes("RUN"), ValidArgsFunction: a.completes(runNames),
		Long: "Send all drafts on a run's change to its agent, as one prompt: as a message to the active agent, if it takes messages,\n" +
			"else as the prompt of a new run that continues the conversation in the same workspace, as soon as the run in it has ended. If the agent cannot continue it, nothing is sent. --preview prints the prompt and changes nothing.",
		Example: "  svc run send 1a2b3c4d --preview\n  svc run send 1a2b3c4d -m 'Please look at these.'",
		RunE: a.calls(func(ctx context.Context, c *api.Client, args []string) error {
			w, err := a.workspaceOfRun(ctx, c, args[0])
			if err != nil {
				return err
			}
			sent, err := c.SendComments(ctx, w.ID, body, preview)
			if svc.CodeOf(err) == svc.CodeValidation && strings.TrimSpace(body.Message) == "" {
				return &problem{what: "there is nothing to send: no draft, and no message", next: a.self() + " run comment " + args[0] + " FILE:LINE TEXT makes a draft", exit: exitUsage, err: err}
			}
			if err != nil {
				return err
			}
			v := view[svc.Sent]{name: func(s svc.Sent) string { return deref(s.RunID) }}
			if preview && a.output == "table" {
				_, err := fmt.Fprint(a.out.lines(), sent.Prompt)
				return err
			}
			how := ", which continues the conversation"
			if sent.MessageID != nil {
				how = ", as a message to its agent"
			}
			if a.output == "table" {
				defer a.note("watch it with: %s run watch %s", a.self(), shortRun(deref(sent.RunID)))
			}
			return printDone(a, v, sent, "sent to run %s%s", a.short(deref(sent.RunID), shortRun), how)
		}),
	}
	cmd.Flags().StringVarP(&body.Message, "message", "m", "", "`TEXT` before the comments")
	cmd.Flags().BoolVar(&preview, "preview", false, "only print the prompt")
	return a.both(cmd)
}
