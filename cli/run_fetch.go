package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"svc"
	"svc/api"
)

// fetched is the result of `svc run fetch`.
type fetched struct {
	Branch     string `json:"branch"`
	Checkpoint int    `json:"checkpoint"`
	Commit     string `json:"commit"`
	// KeptAt is the time of the checkpoint. It does not have what the agent wrote later.
	KeptAt svc.Time `json:"kept_at"`
}

func (a *app) runFetch() *cobra.Command {
	var branch string
	cmd := &cobra.Command{
		Use: "fetch RUN", Short: "Fetch a run's work into the clone in the current folder", Args: takes("RUN"), ValidArgsFunction: a.completes(runNames),
		Long: "Fetch a run's work into the clone in the current folder, as a branch: the newest checkpoint of its working copy that the\n" +
			"orchestrator has, even when the host is gone. Nothing is checked out. Each checkpoint is a commit on top of the agent's own.",
		Example: "  svc run fetch 1a2b3c4d\n  svc run fetch 1a2b3c4d --branch try",
		RunE: a.calls(func(ctx context.Context, c *api.Client, args []string) error {
			w, err := a.workspaceOfRun(ctx, c, args[0])
			if err != nil {
				return err
			}
			if branch == "" {
				branch = w.Branch
			}
			got, err := a.fetchCheckpoint(ctx, c, w, branch)
			if err != nil {
				return err
			}
			v := view[fetched]{name: func(f fetched) string { return f.Branch }, fields: func(f fetched) []field {
				return []field{{"branch", f.Branch}, {"checkpoint", fmt.Sprint(f.Checkpoint)}, {"commit", f.Commit}, {"kept", a.whenExactly(&f.KeptAt)}}
			}}
			if w.Checkpoint > w.RelayedCheckpoint {
				a.note("checkpoint %d is on its host only; the orchestrator does not have it yet", w.Checkpoint)
			}
			kept := a.when(&got.KeptAt)
			if a.human() {
				kept += " ago"
			}
			return printDone(a, v, got, "branch %s has checkpoint %d, kept %s: %s; look at it with: git diff %s...%s", got.Branch, got.Checkpoint, kept,
				changeWords(w), svc.ShortCommit(w.BaseCommit), got.Branch)
		}),
	}
	cmd.Flags().StringVar(&branch, "branch", "", "`NAME` of the branch to make or move on; default: the working copy's own")
	return a.both(cmd)
}

func (a *app) fetchCheckpoint(ctx context.Context, c *api.Client, w svc.Workspace, branch string) (fetched, error) {
	if _, err := a.git(ctx, "rev-parse", "--git-dir"); err != nil {
		return fetched{}, &problem{what: "this folder is not in a git repository", why: err.Error(), next: "go to a clone of " + w.Repo, exit: exitUsage, err: err}
	}
	body, err := c.Bundle(ctx, w.ID, w.RelayedCheckpoint)
	if err != nil {
		return fetched{}, err
	}
	defer body.Close()
	f, err := os.CreateTemp("", "svc-*.bundle")
	if err != nil {
		return fetched{}, err
	}
	defer os.Remove(f.Name())
	_, err = io.Copy(f, body)
	if err = errors.Join(err, f.Close()); err != nil {
		return fetched{}, err
	}
	if _, err := a.git(ctx, "cat-file", "-e", w.BaseCommit+"^{commit}"); err != nil {
		return fetched{}, &problem{
			what: "this clone does not have the commit that the run began at", why: svc.ShortCommit(w.BaseCommit) + " of " + w.BaseRef + " in " + w.Repo,
			next: "fetch it first: git fetch " + w.Repo + " " + w.BaseRef, exit: exitConflict, err: err,
		}
	}
	ref := fmt.Sprintf("refs/svc/%d:refs/heads/%s", w.RelayedCheckpoint, branch)
	if _, err := a.git(ctx, "fetch", "--quiet", "--no-tags", f.Name(), ref); err != nil {
		return fetched{}, &problem{what: "git refused to update the branch " + branch, why: err.Error(), next: "choose another with --branch", exit: exitConflict, err: err}
	}
	found, err := a.git(ctx, "log", "-1", "--no-show-signature", "--format=%H %ct", "refs/heads/"+branch)
	if err != nil {
		return fetched{}, err
	}
	commit, seconds, _ := strings.Cut(found, " ")
	unix, err := strconv.ParseInt(seconds, 10, 64)
	return fetched{Branch: branch, Checkpoint: w.RelayedCheckpoint, Commit: commit, KeptAt: svc.TimeOf(time.Unix(unix, 0))}, err
}

// git runs git in the current folder, with the user's own settings.
func (a *app) git(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Env = a.env
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil && said.Len() > 0 {
		return "", errors.New(strings.TrimSpace(said.String()))
	}
	return strings.TrimSpace(string(out)), err
}
