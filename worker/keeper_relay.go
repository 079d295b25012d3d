package worker

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"svc"
	"svc/wire"
	"svc/workspace"
)

// relay sends the newest checkpoint to the orchestrator: bundle and patch, by offset and acknowledgement. It
// uses connections of its own, so that keys typed into a terminal never wait for it.
func (k *workspaceKeeper) relay(ctx context.Context, r workspace.Record) error {
	export, err := k.host.Export(ctx, r.ID, k.w.opts.Config.Worker.MaxBundleBytes)
	if err != nil {
		return err
	}
	root := fmt.Sprintf("/api/internal/workspaces/%s/checkpoints/%d/", r.ID, export.Number)
	for kind, path := range map[string]string{"bundle": export.Bundle, "patch": export.Patch} {
		if err := k.w.sendFile(ctx, root+kind, path); err != nil {
			return err
		}
	}
	body, err := svc.JSON(wire.CheckpointDone{Files: export.Stat.Files, Additions: export.Stat.Additions, Deletions: export.Stat.Deletions,
		Tree: export.Tree, From: export.From})
	if err != nil {
		return err
	}
	if _, err := k.w.post(ctx, root+"done", body); err != nil {
		return err
	}
	return k.host.Acknowledge(ctx, r.ID, export.Number)
}

// verifyRelayed asks the orchestrator, once on each connection, whether it still has the checkpoint that it
// acknowledged: another orchestrator may have taken over, or its disk may be lost.
func (k *workspaceKeeper) verifyRelayed(ctx context.Context, r *workspace.Record, t *tended) error {
	l := k.w.uplink()
	if l == nil || l == t.asked || r.Relayed == 0 || r.Relayed < r.Newest.Number {
		return nil
	}
	for _, kind := range []string{"bundle", "patch"} {
		has, err := k.w.hasFile(ctx, fmt.Sprintf("/api/internal/workspaces/%s/checkpoints/%d/%s", r.ID, r.Relayed, kind))
		if err != nil {
			return err
		}
		if !has {
			k.w.log.Info("the orchestrator does not have a checkpoint any more; it is sent again", "workspace_id", r.ID, "checkpoint", r.Relayed)
			if err := k.host.Lost(ctx, r.ID, r.Relayed); err != nil {
				return err
			}
			r.Relayed--
			break
		}
	}
	t.asked = l
	return nil
}

// verifyBeforeRemoval makes sure that the orchestrator still has the checkpoint that it acknowledged.
func (k *workspaceKeeper) verifyBeforeRemoval(ctx context.Context, id string, t *tended) error {
	r, err := k.host.Record(id)
	if errors.Is(err, workspace.ErrUnknown) {
		return nil // Remove reports it
	}
	if err != nil {
		return err
	}
	return k.verifyRelayed(ctx, &r, t)
}

// hasFile asks whether the orchestrator has the whole of a file. It sends no content.
func (w *Worker) hasFile(ctx context.Context, path string) (bool, error) {
	q := url.Values{"offset": {"0"}, "total": {strconv.Itoa(wire.MaxCheckpointFile)}, "sha256": {strings.Repeat("0", 2*sha256.Size)}}
	answer, err := w.sendPiece(ctx, path+"?"+q.Encode(), nil)
	var no *refused
	if errors.As(err, &no) && no.status >= 400 && no.status < 500 && no.status != http.StatusTooManyRequests {
		return true, nil // the orchestrator does not have the workspace and does not want the file
	}
	if err != nil {
		return false, err
	}
	var kept wire.CheckpointOffset
	if err := json.Unmarshal(answer, &kept); err != nil {
		return false, fmt.Errorf("ask for %s: the answer is not an orchestrator's: %w", path, err)
	}
	return kept.Complete, nil
}

// sendFile sends a file, starting where the orchestrator's copy ends.
func (w *Worker) sendFile(ctx context.Context, path, file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	sum := sha256.New()
	total, err := io.Copy(sum, f)
	if err != nil {
		return err
	}
	q := url.Values{"total": {strconv.FormatInt(total, 10)}, "sha256": {hex.EncodeToString(sum.Sum(nil))}}
	var kept wire.CheckpointOffset
	piece := make([]byte, 0, wire.MaxPiece) // the first request is empty and asks for the length of the orchestrator's copy
	for tries := 0; tries < 3; tries++ {
		for before := int64(-1); kept.Offset > before; {
			before = kept.Offset
			q.Set("offset", strconv.FormatInt(kept.Offset, 10))
			answer, err := w.sendPiece(ctx, path+"?"+q.Encode(), piece)
			if err != nil {
				return err
			}
			if err := json.Unmarshal(answer, &kept); err != nil {
				return fmt.Errorf("send %s: the answer is not an orchestrator's: %w", path, err)
			}
			if kept.Complete {
				return nil
			}
			if len(piece) == 0 {
				before = -1
			}
			n, err := f.ReadAt(piece[:wire.MaxPiece], kept.Offset)
			if err != nil && !errors.Is(err, io.EOF) {
				return err
			}
			piece = piece[:n]
		}
		kept = wire.CheckpointOffset{} // its offset did not advance: its copy may be of another file
		piece = piece[:0]
	}
	return fmt.Errorf("send %s: the orchestrator does not accept it", path)
}

// pieceTimeout bounds the sending of one piece over a slow connection.
const pieceTimeout = 2 * time.Minute

func (w *Worker) sendPiece(ctx context.Context, path string, piece []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, pieceTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, w.server()+path, bytes.NewReader(piece))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/octet-stream")
	response, err := w.request(request, piece)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	return io.ReadAll(io.LimitReader(response.Body, 1<<20))
}

// request sends a request with the worker's token. body must be the request's body. A status other than 2xx is
// returned as a *refused.
func (w *Worker) request(r *http.Request, body []byte) (*http.Response, error) {
	r.Header.Set("Authorization", "Bearer "+string(w.opts.Token))
	w.signRequest(r, body)
	r.Header.Set(wire.HeaderBootID, w.bootID)
	response, err := w.http.Do(r)
	if err != nil {
		return nil, err
	}
	if response.StatusCode < 200 || response.StatusCode > 299 {
		defer response.Body.Close()
		return nil, refusal(response)
	}
	return response, nil
}

// fetchRestore downloads the checkpoint from which the run's working copy starts and returns its file; empty:
// the working copy starts from its base.
func (s *session) fetchRestore() (string, error) {
	return s.w.keeper.fetchRestore(s.w.ctx, s.rec.Run.Workspace, s.a.RestorePath())
}

// fetchRestore downloads the checkpoint from which a working copy starts, and returns its file; empty: the
// working copy starts from its base, or exists already.
func (k *workspaceKeeper) fetchRestore(ctx context.Context, order *wire.Workspace, file string) (string, error) {
	if order == nil || order.Restore == nil {
		return "", nil
	}
	if r, err := k.host.Record(order.ID); err == nil && r.Ready() {
		return "", nil
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	path := fmt.Sprintf("%s/api/internal/workspaces/%s/checkpoints/%d/bundle?for=%s", k.w.server(), order.Restore.WorkspaceID, order.Restore.Checkpoint, order.ID)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, path, nil)
	if err != nil {
		return "", err
	}
	response, err := k.w.request(request, nil)
	if err != nil {
		return "", fmt.Errorf("the checkpoint for its working copy cannot be fetched: %w", err)
	}
	defer response.Body.Close()
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return "", &hostFault{err}
	}
	_, err = io.Copy(f, response.Body)
	if err = errors.Join(err, f.Close()); err != nil {
		return "", fmt.Errorf("the checkpoint for its working copy cannot be fetched: %w", err)
	}
	return f.Name(), nil
}

// restore makes a working copy that has no run yet. The setup is left to the first run, which has a terminal
// and may be contained.
func (k *workspaceKeeper) restore(ctx context.Context, order *wire.Workspace) error {
	f, err := os.CreateTemp(k.w.opts.Config.DataDir, ".restore-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	if err := f.Close(); err != nil {
		return err
	}
	bundle, err := k.fetchRestore(ctx, order, f.Name())
	if err != nil {
		return err
	}
	_, err = k.host.Prepare(ctx, workspace.Order{
		ID: order.ID, Source: order.Source(), Branch: order.Branch, Bundle: bundle, BundleBase: order.RestoreBase(), NoSetup: true,
	})
	return err
}

// land lands a checkpoint, or looks up the outcome of an earlier call, and reports it. The orchestrator repeats
// the request until it has an outcome.
func (k *workspaceKeeper) land(ctx context.Context, id string, o svc.LandOrder) error {
	outcome, err := k.host.Land(ctx, id, o)
	if err != nil {
		if ctx.Err() != nil {
			return err
		}
		k.w.log.Warn("a landing has no outcome yet; it is looked up again when the orchestrator asks", "workspace_id", id, "landing_id", o.ID, "error", err)
		outcome = svc.LandOutcome{ID: o.ID, State: svc.LandingOpen, Error: svc.Cut(err.Error(), 2000)}
	}
	body, err := svc.JSON(outcome)
	if err != nil {
		return err
	}
	_, err = k.w.post(ctx, "/api/internal/workspaces/"+id+"/landing", body)
	return err
}

// answer executes a workspace request of the orchestrator.
func (k *workspaceKeeper) answer(ctx context.Context, l *link, f *wire.WorkspaceRequest) {
	t := k.tended(f.WorkspaceID)
	if f.Do == wire.WorkspaceLand {
		if !t.landing.TryLock() {
			return // a landing is under way; the orchestrator repeats the request
		}
		defer t.landing.Unlock()
	}
	if f.Do == wire.WorkspaceRestore && !t.tryLock() {
		return // the working copy is being made; the orchestrator repeats the request
	}
	if f.Do != wire.WorkspaceRestore && t.lock(ctx) != nil {
		return
	}
	defer t.unlock()
	in := k.live()[f.WorkspaceID]
	var err error
	switch f.Do {
	case wire.WorkspaceCheckpoint:
		t.again = time.Time{}
		err = k.tend(ctx, f.WorkspaceID, t, in, true)
	case wire.WorkspaceRemove:
		if err = k.verifyBeforeRemoval(ctx, f.WorkspaceID, t); err != nil {
			break
		}
		err = k.host.Remove(ctx, f.WorkspaceID, workspace.Parting{Run: in != nil, Landed: f.Landed, GiveUp: f.Tree})
		if errors.Is(err, workspace.ErrUnknown) {
			err = nil // it is gone already
		}
		if err == nil {
			k.forget(f.WorkspaceID)
		}
	case wire.WorkspaceRestore:
		err = k.restore(ctx, f.Workspace)
	case wire.WorkspaceLand:
		err = k.land(ctx, f.WorkspaceID, *f.Land)
	default:
		err = fmt.Errorf("this worker does not support %q; update the worker", f.Do)
	}
	result := &wire.WorkspaceResult{RequestID: f.RequestID, OK: err == nil}
	var unsafe *workspace.NotSafe
	if errors.As(err, &unsafe) {
		result.Unsafe = unsafe.Reasons
	}
	if err != nil {
		result.Error = svc.Cut(err.Error(), 2000)
	}
	l.out.push(laneControl, result, nil)
	select {
	case k.wake <- struct{}{}:
	default:
	}
}
