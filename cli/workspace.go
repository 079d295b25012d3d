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

func (a *app) workspaceView() view[svc.Workspace] {
	return view[svc.Workspace]{
		name:  func(w svc.Workspace) string { return w.ID },
		empty: "no workspaces; runs of a project with a repository get one each: svc project update PROJECT --repo URL",
		columns: []column[svc.Workspace]{
			{head: "WORKSPACE", cell: func(w svc.Workspace) string { return a.short(w.ID, shortRun) }},
			{head: "STATE", cell: workspaceWord, tone: workspaceTone},
			{head: "RUN", cell: func(w svc.Workspace) string { return a.short(w.RunID, shortRun) }},
			{head: "BRANCH", cell: func(w svc.Workspace) string { return w.Branch }, flex: true},
			{head: "CHANGE", cell: changeWords},
			{head: "KEPT", cell: keptWords},
			{head: "CREATED", cell: func(w svc.Workspace) string { return a.when(&w.CreatedAt) }},
		},
		fields: func(w svc.Workspace) []field {
			return []field{
				{"workspace", w.ID}, {"state", workspaceWord(w)}, {"error", w.Error}, {"run", w.RunID}, {"host", w.HostID}, {"path", w.Path},
				{"isolation", string(w.Isolation)}, {"repo", w.Repo}, {"branch", w.Branch}, {"base", a.baseWords(w)}, {"change", changeWords(w)},
				{"kept", keptWords(w)}, {"size", sizeWords(w.SizeBytes)}, {"tree", w.Tree}, {"conflicts", strings.Join(w.Conflicts, ", ")}, {"restored from", w.RestoredFrom},
				{"landed", a.landedWords(w)}, {"landing", landingWords(w)}, {"discarded", a.whenExactly(w.DiscardedAt)}, {"observed", a.whenExactly(w.ObservedAt)}, {"created", a.whenExactly(&w.CreatedAt)},
			}
		},
	}
}

func workspaceWord(w svc.Workspace) string {
	switch {
	case w.State == svc.WorkspaceRemoved:
		return string(w.State)
	case w.DiscardedAt != nil:
		return string(w.State) + ", discarded"
	case w.LandedAt != nil && w.LandedCheckpoint == w.Checkpoint:
		return string(w.State) + ", landed"
	}
	return string(w.State)
}

func workspaceTone(w svc.Workspace) tone {
	switch w.State {
	case svc.WorkspaceBusy:
		return good
	case svc.WorkspaceFailed, svc.WorkspaceMissing:
		return bad
	case svc.WorkspaceRemoved:
		return dim
	default:
		return plain
	}
}

func (a *app) baseWords(w svc.Workspace) string {
	if w.BaseCommit == "" {
		return ""
	}
	words := svc.ShortCommit(w.BaseCommit)
	if w.BaseRef != "" {
		words += " of " + w.BaseRef
	}
	if w.BaseFetchedAt != nil {
		words += ", fetched " + a.whenExactly(w.BaseFetchedAt)
	}
	return words
}

// landedWords describes what of the workspace was landed, and where.
func (a *app) landedWords(w svc.Workspace) string {
	if w.LandedAt == nil {
		return ""
	}
	return fmt.Sprintf("checkpoint %d into %s as %s, %s", w.LandedCheckpoint, w.LandedInto, svc.ShortCommit(w.LandedCommit), a.whenExactly(w.LandedAt))
}

// landingWords describes a landing that is open or has failed; empty: there is none.
func landingWords(w svc.Workspace) string {
	l := w.Landing
	if l == nil || l.State == svc.LandingDone {
		return ""
	}
	words := fmt.Sprintf("%s of checkpoint %d into %s", l.How, l.Checkpoint, l.Into)
	if l.State == svc.LandingFailed {
		words += " failed: " + l.Error
	} else {
		words += " is under way"
		if l.Error != "" {
			words += ": " + l.Error
		}
	}
	if len(l.Conflicts) > 0 {
		words += ": " + strings.Join(l.Conflicts, ", ")
	}
	return words
}

// changeWords describes the size of the change in the newest checkpoint that the orchestrator has.
func changeWords(w svc.Workspace) string {
	if w.RelayedCheckpoint == 0 {
		return ""
	}
	return fmt.Sprintf("+%d -%d in %s", w.Additions, w.Deletions, count(w.Files, "file"))
}

// sizeWords formats a number of bytes; empty for 0.
func sizeWords(bytes int64) string {
	switch {
	case bytes <= 0:
		return ""
	case bytes < 10<<10:
		return fmt.Sprintf("%d bytes", bytes)
	case bytes < 10<<20:
		return fmt.Sprintf("%d KiB", bytes>>10)
	case bytes < 10<<30:
		return fmt.Sprintf("%d MiB", bytes>>20)
	default:
		return fmt.Sprintf("%d GiB", bytes>>30)
	}
}

// keptWords describes the newest checkpoint, and whether the orchestrator has it.
func keptWords(w svc.Workspace) string {
	switch {
	case w.Checkpoint == 0:
		return ""
	case w.RelayedCheckpoint >= w.Checkpoint:
		return "checkpoint " + strconv.Itoa(w.Checkpoint)
	case w.RelayedCheckpoint == 0:
		return fmt.Sprintf("checkpoint %d, on its host only", w.Checkpoint)
	default:
		return fmt.Sprintf("checkpoint %d; the newest, %d, is on its host only", w.RelayedCheckpoint, w.Checkpoint)
	}
}

func (a *app) workspaceCommand() *cobra.Command {
	return group(&cobra.Command{Use: "workspace", Short: "Working copies of runs"},
		a.workspaceList(), a.workspaceShow(), a.workspaceDiscard(), a.workspaceRestore(), a.workspaceRemove())
}

func (a *app) workspaceList() *cobra.Command {
	var all bool
	var project, host string
	cmd := &cobra.Command{Use: "list", Short: "List the working copies of runs, newest first", Args: takes(), RunE: a.calls(func(ctx context.Context, c *api.Client, _ []string) error {
		var f svc.WorkspaceFilter
		if project != "" {
			p, err := a.project(ctx, c, project)
			if err != nil {
				return err
			}
			f.ProjectID = p.ID
		}
		if host != "" {
			h, err := c.Host(ctx, host)
			if err != nil {
				return err
			}
			f.HostID = h.ID
		}
		if !all {
			f.States = []svc.WorkspaceState{svc.WorkspacePreparing, svc.WorkspaceReady, svc.WorkspaceBusy, svc.WorkspaceFailed, svc.WorkspaceMissing}
		}
		found, err := collect(c.AllWorkspaces(ctx, f))
		if err != nil {
			return err
		}
		return printList(a, a.workspaceView(), found)
	})}
	cmd.Flags().BoolVarP(&all, "all", "a", false, "show removed ones too")
	cmd.Flags().StringVarP(&project, "project", "p", "", "only those of this `PROJECT`")
	cmd.Flags().StringVar(&host, "host", "", "only those on this `HOST`")
	a.completeFlag(cmd, "project", projectNames)
	a.completeFlag(cmd, "host", hostNames)
	return a.reading(cmd)
}

// theWorkspace finds a workspace by its id, by the beginning of its id, or by the run that is in it.
func (a *app) theWorkspace(ctx context.Context, c *api.Client, ref string) (svc.Workspace, error) {
	if svc.IsID(ref) {
		w, err := c.Workspace(ctx, ref)
		if svc.CodeOf(err) != svc.CodeNotFound {
			return w, err
		}
	} else if len(ref) >= 4 {
		w, err := find(ref, "workspace", c.AllWorkspaces(ctx, svc.WorkspaceFilter{}), func(w svc.Workspace) candidate {
			return candidate{w.ID, "", fmt.Sprintf("%s, %s", w.Branch, w.State)}
		})
		if !isNotFound(err) {
			return w, err
		}
	}
	r, err := a.theRun(ctx, c, ref)
	if isNotFound(err) {
		return svc.Workspace{}, &problem{what: fmt.Sprintf("there is no workspace %q", ref), next: "`svc workspace list` shows them", exit: exitNotFound}
	}
	if err != nil {
		return svc.Workspace{}, err
	}
	return a.workspaceOf(ctx, c, r)
}

func (a *app) workspaceOfRun(ctx context.Context, c *api.Client, ref string) (svc.Workspace, error) {
	r, err := a.theRun(ctx, c, ref)
	if err != nil {
		return svc.Workspace{}, err
	}
	return a.workspaceOf(ctx, c, r)
}

// workspaceOf returns the working copy of a run.
func (a *app) workspaceOf(ctx context.Context, c *api.Client, r svc.Run) (svc.Workspace, error) {
	if r.WorkspaceID == nil {
		return svc.Workspace{}, &problem{
			what: "run " + a.short(r.ID, shortRun) + " has no working copy of its own",
			next: "`svc project update PROJECT --repo URL` gives one to each new run", exit: exitNotFound,
		}
	}
	return c.Workspace(ctx, *r.WorkspaceID)
}

func (a *app) workspaceShow() *cobra.Command {
	return a.reading(&cobra.Command{
		Use: "show WORKSPACE", Short: "Show a working copy", Args: takes("WORKSPACE"),
		Long: "Show a working copy: by its id, the beginning of it, or the run that is in it.",
		RunE: a.calls(func(ctx context.Context, c *api.Client, args []string) error {
			w, err := a.theWorkspace(ctx, c, args[0])
			if err != nil {
				return err
			}
			return printOne(a, a.workspaceView(), w)
		}),
	})
}

func (a *app) workspaceDiscard() *cobra.Command {
	var undo bool
	cmd := &cobra.Command{
		Use: "discard WORKSPACE", Short: "Mark a working copy as not wanted", Args: takes("WORKSPACE"),
		Long: "Mark a working copy as not wanted. It is removed from its host after the project's keep_days, if nothing is lost by it.",
		RunE: a.calls(func(ctx context.Context, c *api.Client, args []string) error {
			w, err := a.theWorkspace(ctx, c, args[0])
			if err != nil {
				return err
			}
			return a.discard(ctx, c, w, undo)
		}),
	}
	cmd.Flags().BoolVar(&undo, "undo", false, "undo a discard")
	return a.both(cmd)
}

func (a *app) workspaceRestore() *cobra.Command {
	var host string
	cmd := &cobra.Command{
		Use: "restore WORKSPACE --host HOST", Short: "Make a new working copy from the orchestrator's copy of another one", Args: takes("WORKSPACE"),
		Long: "Make a new working copy on a host from the newest checkpoint that the orchestrator has of another one, even when that one and its host are gone.\n" +
			"To continue in it: svc run start TASK --workspace WORKSPACE. The project's setup runs before that.",
		RunE: a.calls(func(ctx context.Context, c *api.Client, args []string) error {
			if host == "" {
				return usage("name the host: --host HOST", "--host is missing")
			}
			w, err := a.theWorkspace(ctx, c, args[0])
			if err != nil {
				return err
			}
			h, err := a.host(ctx, c, host)
			if err != nil {
				return err
			}
			if w, err = c.RestoreWorkspace(ctx, w.ID, h.ID); err != nil {
				return err
			}
			return printDone(a, a.workspaceView(), w, "host %s makes workspace %s", h.Name, w.ID)
		}),
	}
	cmd.Flags().StringVar(&host, "host", "", "the `HOST` that makes it")
	a.completeFlag(cmd, "host", hostNames)
	return a.both(cmd)
}

func (a *app) workspaceRemove() *cobra.Command {
	var tree string
	cmd := &cobra.Command{
		Use: "remove WORKSPACE", Short: "Remove a working copy from its host, if nothing is lost by it", Args: takes("WORKSPACE"),
		Long: "Remove a working copy from its host. The host makes a last checkpoint and removes the folder only when the orchestrator has that,\n" +
			"no run and no process is in it, and all of it could be read. It cannot be forced; --tree names exactly the state that may be lost.",
		RunE: a.calls(func(ctx context.Context, c *api.Client, args []string) error {
			w, err := a.theWorkspace(ctx, c, args[0])
			if err != nil {
				return err
			}
			if err := c.RemoveWorkspace(ctx, w.ID, tree); err != nil {
				return err
			}
			if w, err = c.Workspace(ctx, w.ID); err != nil {
				return err
			}
			return printDone(a, a.workspaceView(), w, "removed workspace %s", a.short(w.ID, shortRun))
		}),
	}
	cmd.Flags().StringVar(&tree, "tree", "", "`HASH` of the tree that may be lost, from `svc workspace show`")
	return a.both(cmd)
}
