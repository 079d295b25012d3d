package hostile

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"svc"
	"svc/api"
	"svc/internal/proctest"
	"svc/internal/waittest"
	"svc/wire"
)

// newRepository creates a bare repository with one commit. Working copies are created from it, and changes are landed
// into it.
func newRepository(t *testing.T, lab *proctest.Lab) string {
	t.Helper()
	dir := lab.Path("repository.git")
	script := `git init -q -b main work && cd work && echo base >file && git add file && git -c user.name=t -c user.email=t@t commit -q -m base && cd .. && git clone -q --bare work "$1"`
	make := exec.CommandContext(t.Context(), "sh", "-ec", script, "sh", dir)
	make.Dir = t.TempDir()
	if said, err := make.CombinedOutput(); err != nil {
		t.Fatalf("make a repository: %v\n%s", err, said)
	}
	return dir
}

// land waits until the last checkpoint of an ended run is relayed, and lands it.
func land(t *testing.T, client *api.Client, id string) {
	t.Helper()
	var w svc.Workspace
	waittest.Eventually(t, "the neighbour's change is relayed", func() bool {
		var err error
		w, err = client.Workspace(t.Context(), id)
		return err == nil && w.Checkpoint > 0 && w.RelayedCheckpoint == w.Checkpoint && w.State == svc.WorkspaceReady
	})
	if w.Error != "" || w.Files != 1 {
		t.Errorf("the neighbour's workspace has %d changed files, and the error %q", w.Files, w.Error)
	}
	if _, err := client.LandWorkspace(t.Context(), id, api.LandWorkspace{Checkpoint: w.Checkpoint, How: string(svc.LandSquash)}); err != nil {
		t.Fatal(err)
	}
	waittest.Eventually(t, "the neighbour's change is landed", func() bool {
		w, err := client.Workspace(t.Context(), id)
		if err == nil && w.Landing.State == svc.LandingFailed {
			t.Fatalf("the neighbour's landing failed: %s", w.Landing.Error)
		}
		return err == nil && w.Landing.State == svc.LandingDone
	})
}

// awaitWorkspace connects the hostile worker until the run has a workspace on its host. It returns the workspace's id.
func (h *hostile) awaitWorkspace(ctx context.Context, client *api.Client, own svc.Run) (workspaceID string) {
	c, err := h.open(ctx, h.instance, "")
	if err != nil {
		h.t.Fatal(err)
	}
	var reading sync.WaitGroup
	reading.Go(func() {
		for err := error(nil); err == nil; {
			_, _, err = c.Read(ctx)
		}
	})
	defer reading.Wait()
	defer func() { _ = c.CloseNow() }()
	if err := h.send(ctx, c, wire.Heartbeat{HostID: h.host, InstanceID: h.instance, Timestamp: 1}); err != nil {
		h.t.Fatal(err)
	}
	waittest.Eventually(h.t, "the run has a workspace on the hostile host", func() bool {
		r, err := client.Run(ctx, own.ID)
		if err == nil && r.WorkspaceID != nil {
			workspaceID = *r.WorkspaceID
		}
		return workspaceID != ""
	})
	return workspaceID
}

// forgeWorkspace reports about a workspace of another host, and sends checkpoints of it. All requests are well formed.
// Each must be refused with the given status.
func (h *hostile) forgeWorkspace(ctx context.Context, id string, refused int) {
	piece := "?offset=0&total=2&sha256=" + strings.Repeat("0", 64)
	for path, body := range map[string]any{
		"/report":                         svc.WorkspaceReport{State: svc.WorkspaceMissing, Path: "/forged", Checkpoint: 900},
		"/landing":                        svc.LandOutcome{ID: svc.NewID(), State: svc.LandingDone, Commit: strings.Repeat("a", 40)},
		"/checkpoints/900/done":           wire.CheckpointDone{},
		"/checkpoints/900/bundle" + piece: struct{}{},
		"/checkpoints/900/patch" + piece:  struct{}{},
	} {
		if status := h.post(ctx, "/workspaces/"+id+path, body); status != refused {
			h.t.Errorf("%s of another's workspace was answered with %d, want %d", path, status, refused)
		}
	}
}

// floodWorkspace sends many reports and checkpoint files of the worker's own workspace. A base commit or tree that
// another host's git could interpret as something else than a commit must be refused.
func (h *hostile) floodWorkspace(ctx context.Context, id string) {
	root := "/workspaces/" + id
	if status := h.post(ctx, root+"/report", svc.WorkspaceReport{State: svc.WorkspaceReady, Path: "/w", BaseCommit: "refs/heads/main:refs/heads/evil"}); status != http.StatusBadRequest {
		h.t.Errorf("a refspec as the base was answered with %d", status)
	}
	if status := h.post(ctx, root+"/checkpoints/1/done", wire.CheckpointDone{Tree: strings.Repeat("a", 100<<10)}); status != http.StatusBadRequest {
		h.t.Errorf("a tree with a name of 100 KiB was answered with %d", status)
	}
	most := int64(100)
	if proctest.Long() {
		most = 1200 // more files than a workspace may have
	}
	var number atomic.Int64
	var sides sync.WaitGroup
	for range 8 {
		sides.Go(func() {
			for number.Load() < most {
				n := number.Add(1)
				if n%20 == 0 {
					h.post(ctx, root+"/report", svc.WorkspaceReport{State: svc.WorkspaceReady, Path: "/w", Checkpoint: int(n)})
				}
				h.post(ctx, fmt.Sprintf("%s/checkpoints/%d/patch?offset=1&total=2&sha256=00", root, n), struct{}{})
			}
		})
	}
	sides.Wait()
	files, err := os.ReadDir(filepath.Join(h.o.Dir, "relay", "workspaces", id))
	if err != nil || len(files) > 1100 {
		h.t.Errorf("the hostile host has %d files without a byte (%v)", len(files), err)
	}
}

// harmfulAgent is an agent that makes its working copy harmful: programs that git would execute there, pipes and
// endless or huge files where git reads, symbolic links to other places, and file names with control characters. Then
// it waits for a line.
const harmfulAgent = `mark=$1; printf '#!/bin/sh\ntouch %s\ncat\n' "$mark" >evil; chmod +x evil
	for k in core.fsmonitor core.sshCommand filter.evil.clean filter.evil.smudge filter.lfs.process diff.external core.hooksPath credential.helper uploadpack.packObjectsHook; do git config $k "$PWD/evil"; done
	git config remote.origin.url "ext::$PWD/evil"; git config protocol.ext.allow always; git config submodule.s.url "ext::$PWD/evil"
	printf '[submodule "s"]\n\tpath = s\n\turl = ext::%s\n' "$PWD/evil" >.gitmodules; printf '* filter=evil\n*.bin filter=lfs\n' >.gitattributes
	mkdir -p .git/hooks sub zero-rules; for h in post-checkout pre-push reference-transaction post-index-change; do cp evil .git/hooks/$h; done
	mkfifo sub/.gitignore own.pipe .git/objects/info/alternates; ln -s /etc/passwd passwd; ln -s / root; ln -s /dev/zero zero
	echo x >"$(printf 'a\nname')"; echo x >"$(printf '\033[2Jname')"; printf '/etc/*\n../*\n' >.worktreeinclude; truncate -s 3G zero-rules/.gitignore
	mkdir nested; git init -q nested; echo x >nested/.git/HEAD; echo spoiled; read line`

func TestHostileAgentsAreNotNoticedByTheirNeighbour(t *testing.T) {
	t.Parallel()
	lab := proctest.NewLab(t)
	o := proctest.NewOrchestrator(lab, proctest.ServeOptions{})
	o.Start()
	client := o.Client()
	host := proctest.NewWorker(o, proctest.WorkerOptions{Name: "host", Config: `checkpoint_every = "1s"`})
	host.Start()
	repo, mark := newRepository(t, lab), lab.Path("executed")
	var agents []svc.Run
	for range 3 { // more workspaces than the worker handles at a time
		agents = append(agents, newRun(t, client, host.HostID, repo, strings.ReplaceAll(harmfulAgent, "mark=$1", "mark="+mark)))
	}
	for _, a := range agents {
		waittest.Eventually(t, "a working copy is spoiled", func() bool { return strings.Contains(logOf(t, client, a.ID), "spoiled") })
	}
	run := newRun(t, client, host.HostID, repo, "echo change >change; read line")
	waittest.Eventually(t, "the neighbour's change is kept while it works", func() bool {
		r, err := client.Run(t.Context(), run.ID)
		if err != nil || r.WorkspaceID == nil {
			return false
		}
		w, err := client.Workspace(t.Context(), *r.WorkspaceID)
		run = r
		return err == nil && w.RelayedCheckpoint > 0
	})
	if err := client.SendKeys(t.Context(), run.ID, []string{"Enter"}); err != nil {
		t.Fatal(err)
	}
	awaitExited(t, client, run.ID, "the neighbour's run ends well")
	land(t, client, *run.WorkspaceID)
	for _, a := range agents {
		if _, err := client.StopRun(t.Context(), a.ID); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("a program that an agent named was executed")
	}
}
