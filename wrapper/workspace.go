package wrapper

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"svc"
	"svc/workspace"
)

// stepWords maps each step of a preparation to the text that is shown and reported.
var stepWords = map[workspace.Step]string{
	workspace.StepFetch:    "fetching the repository",
	workspace.StepCheckout: "making the working copy",
	workspace.StepInclude:  "copying what .worktreeinclude names",
	workspace.StepSetup:    "running the project's setup",
}

// prepareWorkspace makes the run's working copy in the run's own terminal, so that people can watch it and it
// is in the log. A signal to the wrapper ends the preparation; the next attempt starts it again.
func (r *runner) prepareWorkspace(caught <-chan os.Signal) *failure {
	ctx, cancel := context.WithCancel(context.Background())
	defer r.cancelOn(caught, cancel)()
	order := r.launch.Workspace
	host := workspace.Host{Dir: r.launch.DataDir}
	var run func(workspace.Record, *exec.Cmd) error
	if r.launch.Contain != nil {
		run = func(made workspace.Record, cmd *exec.Cmd) error { return r.runContained(cmd, host.Folders(made)) }
	}
	made, err := host.Prepare(ctx, workspace.Order{
		Run: run,
		ID:  order.ID, Source: order.Source(), Branch: order.Branch, Bundle: r.launch.Restore, BundleBase: order.RestoreBase(), Needs: order.Needs,
		Env: sessionEnv(r.launch, r.env, linkSelf(r.attempt)), Out: r.stderr, Tell: func(s workspace.Step) {
			if s == workspace.StepSetup && order.Setup == "" || s == workspace.StepInclude && !order.Source().IsPath() {
				return
			}
			r.reportStep(stepWords[s])
		},
	})
	switch {
	case err != nil && ctx.Err() != nil:
		return &failure{exitSignalBase + int(syscall.SIGINT), "the preparation of its working copy was stopped"}
	case errors.As(err, new(*workspace.Failure)):
		return &failure{exitCannotRun, err.Error()}
	case err != nil:
		return r.cannot(exitCannotRun, "its working copy cannot be made: %v", err)
	}
	r.reportStep(fmt.Sprintf("the working copy is ready, on branch %s at %s of %s", made.Branch, svc.ShortCommit(made.BaseCommit), made.BaseRef))
	r.launch.Env = append(r.launch.Env, "SVC_WORKSPACE="+made.Path, "SVC_BASE_COMMIT="+made.BaseCommit)
	if contain := r.launch.Contain; contain != nil {
		contain.Show = append(contain.Show, host.Folders(made)...)
	}
	cwd, err := insideOf(made.Path, r.launch.Cwd)
	if err != nil {
		return r.cannot(exitCannotRun, "%v", err)
	}
	r.launch.Cwd = cwd
	return nil
}

// insideOf returns the path of a folder in the working copy. It returns an error for a link that leads out of
// the working copy.
func insideOf(root, sub string) (string, error) {
	path := filepath.Join(root, sub)
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", fmt.Errorf("the working copy has no folder %s", sub)
	}
	top, err := filepath.EvalSymlinks(root)
	if err != nil {
		return "", err
	}
	if real != top && !strings.HasPrefix(real, top+string(filepath.Separator)) {
		return "", fmt.Errorf("%s leads out of the working copy", sub)
	}
	return path, nil
}

// reportStep prints a step in the terminal and reports it as progress.
func (r *runner) reportStep(words string) {
	fmt.Fprintf(r.stderr, "svc: %s\r\n", words)
	_, err := r.attempt.Put(svc.Signal{
		RunID: r.launch.RunID, Attempt: r.launch.Attempt, Kind: svc.SignalProgress, Source: svc.FromHook, Message: words, Timestamp: r.time(),
	}, r.launch.SignalToken)
	r.warn(err)
}

// cancelOn calls cancel when a signal asks the wrapper to end, until the returned function is called.
func (r *runner) cancelOn(caught <-chan os.Signal, cancel context.CancelFunc) (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case s := <-caught:
				if s != syscall.SIGWINCH {
					cancel()
				}
			case <-done:
				return
			}
		}
	}()
	return func() {
		close(done)
		<-ended
		cancel()
	}
}
