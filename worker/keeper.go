package worker

import (
	"context"
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"svc"
	"svc/atomicfile"
	"svc/git"
	"svc/wire"
	"svc/workspace"
)

// workspaceKeeper maintains the working copies of this host: it makes checkpoints while an agent works, and
// reports and sends to the orchestrator what that does not have yet. It finds the work to do on the disk,
// repeatedly, so that nothing depends on what is in memory.
type workspaceKeeper struct {
	w     *Worker
	host  workspace.Host
	wake  chan struct{}
	slots chan struct{} // holds a token for each workspace in work, for slotTime at most

	mu sync.Mutex // guards of
	of map[string]*tended
}

// tended is the in-memory state of a workspace. If it is lost, work is repeated but nothing is missed.
type tended struct {
	busy     chan struct{}        // a lock: of size one, it holds a token while a goroutine works on the workspace
	failed   string               // why the last checkpoint could not be made; empty: it was made
	next     time.Time            // of the next checkpoint while an agent works
	reported *svc.WorkspaceReport // the last report that the orchestrator accepted; nil: none
	size     int64                // of the folder; 0: not measured
	tooLarge int                  // the checkpoint that is too large to be sent; 0: none
	again    time.Time            // when the next report or transfer may be tried after a failure
	asked    *link                // the connection on which the orchestrator last confirmed the acknowledged checkpoint
	landing  sync.Mutex           // held while a landing of it runs or waits
}

// The keeper's intervals and limits.
const (
	keeperTick   = time.Second      // workspaces with a session
	keeperSweep  = 30 * time.Second // all of them
	keeperSlots  = 2
	slotTime     = 10 * time.Second // then another workspace may start, so that a slow or large one does not delay the others
	relayRetry   = 5 * time.Second
	leaveWithin  = 2 * time.Minute  // for the last checkpoint of a session
	relayedUntil = 30 * time.Second // how long the end of a session waits until its last checkpoint is relayed
)

func newKeeper(w *Worker) *workspaceKeeper {
	return &workspaceKeeper{
		w: w, host: workspace.Host{Dir: w.opts.Config.DataDir, Now: w.opts.Now}, wake: make(chan struct{}, 1),
		slots: make(chan struct{}, keeperSlots), of: map[string]*tended{},
	}
}

// workspaceOf returns the id of a dispatch's working copy; empty: it has none.
func workspaceOf(f *wire.RunDispatch) string {
	if f.Workspace == nil {
		return ""
	}
	return f.Workspace.ID
}

// capabilities returns what this worker supports. Without a suitable git it does not offer working copies and
// landings.
func (w *Worker) capabilities(ctx context.Context) []string {
	v, err := w.keeper.host.Git.Version(ctx)
	if err == nil {
		return wire.Capabilities
	}
	w.log.Warn("this host makes no working copies", "error", err, "git", v.String(), "needs", git.MinVersion.String())
	return slices.DeleteFunc(slices.Clone(wire.Capabilities), func(c string) bool { return c == wire.CapWorkspace || c == wire.CapLand })
}

// lowDisk returns why a host with too little disk space refuses runs; empty: it has enough, or the space is
// unknown.
func (w *Worker) lowDisk() string {
	least := w.opts.Config.Worker.MinFree
	free, err := atomicfile.DiskFree(w.opts.Config.DataDir)
	if err != nil || least <= 0 || free >= uint64(least) {
		return ""
	}
	return "the disk of " + w.opts.Config.DataDir + " has " + size(free) + " free; [worker] min_free asks for " + size(uint64(least))
}

// diskFree returns how many bytes can still be written on the disk of the data directory; nil: unknown.
func (w *Worker) diskFree() *int64 {
	free, err := atomicfile.DiskFree(w.opts.Config.DataDir)
	if err != nil {
		return nil
	}
	bytes := int64(min(free, math.MaxInt64))
	return &bytes
}

func size(bytes uint64) string { return itoa(int(bytes>>20)) + " MiB" }

func (k *workspaceKeeper) run(ctx context.Context) {
	tick := time.NewTicker(keeperTick)
	defer tick.Stop()
	var tasks sync.WaitGroup
	defer tasks.Wait()
	var swept time.Time
	var on *link
	for {
		live := k.live()
		all := time.Since(swept) > keeperSweep || k.w.uplink() != on
		if all {
			swept, on = time.Now(), k.w.uplink()
		}
		for _, id := range k.ids(live, all) {
			t := k.tended(id)
			if !t.tryLock() {
				continue
			}
			tasks.Go(func() {
				defer t.unlock()
				if err := k.tend(ctx, id, t, live[id], false); err != nil && ctx.Err() == nil {
					k.w.log.Warn("a workspace cannot be checkpointed or reported now; it is tried again", "workspace_id", id, "error", err)
				}
			})
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-k.wake:
			swept = time.Time{}
		}
	}
}

// live returns the workspaces that are in use by a session.
func (k *workspaceKeeper) live() map[string]*session {
	k.w.mu.Lock()
	defer k.w.mu.Unlock()
	live := map[string]*session{}
	for _, s := range k.w.sessions {
		if s.workspace != "" && !s.hasLeft() {
			live[s.workspace] = s
		}
	}
	return live
}

func (s *session) hasLeft() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.leaving || s.concluded
}

// ids returns the workspaces to process now.
func (k *workspaceKeeper) ids(live map[string]*session, all bool) (ids []string) {
	for id := range live {
		ids = append(ids, id)
	}
	if !all {
		return ids
	}
	records, err := k.host.Records()
	if err != nil {
		k.w.log.Warn("the records of workspaces cannot all be read", "error", err)
	}
	for _, r := range records {
		if live[r.ID] == nil {
			ids = append(ids, r.ID)
		}
	}
	return ids
}

func (k *workspaceKeeper) tended(id string) *tended {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.of[id] == nil {
		k.of[id] = &tended{busy: make(chan struct{}, 1)}
	}
	return k.of[id]
}

func (t *tended) tryLock() bool {
	select {
	case t.busy <- struct{}{}:
		return true
	default:
		return false
	}
}

// lock waits until no other goroutine works on the workspace, or ctx ends.
func (t *tended) lock(ctx context.Context) error {
	select {
	case t.busy <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (t *tended) unlock() { <-t.busy }

// slot waits until few enough workspaces are in work. If release is called after slotTime, the slot was
// released already.
func (k *workspaceKeeper) slot(ctx context.Context) (release func(), err error) {
	select {
	case k.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	give := sync.OnceFunc(func() { <-k.slots })
	late := time.AfterFunc(slotTime, give)
	return func() { late.Stop(); give() }, nil
}

func (k *workspaceKeeper) forget(id string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.of, id)
}

// tend does what is due for a workspace: it makes a checkpoint, while an agent works in it or when one is
// requested (now), and then reports and sends what the orchestrator does not have.
func (k *workspaceKeeper) tend(ctx context.Context, id string, t *tended, in *session, now bool) error {
	r, err := k.host.Record(id)
	if errors.Is(err, workspace.ErrUnknown) {
		return nil // its preparation has not begun, or it was removed
	}
	if err != nil {
		return err
	}
	release, err := k.slot(ctx)
	if err != nil {
		return err
	}
	defer release()
	missing := false
	if r.Ready() && (now || in != nil && !time.Now().Before(t.next)) {
		began := time.Now()
		_, _, err = k.host.Checkpoint(ctx, id)
		if now || t.size == 0 { // measuring takes about as long as a checkpoint, and no decision depends on it
			t.size = k.host.Size(id)
		}
		t.next = time.Now().Add(svc.CheckpointInterval(k.w.opts.Config.Worker.CheckpointEvery, time.Since(began)))
		if t.failed = ""; err != nil && ctx.Err() == nil && !errors.Is(err, workspace.ErrMissing) {
			t.failed = err.Error()
		}
	} else if r.Ready() {
		err = k.host.Exists(id)
	}
	if errors.Is(err, workspace.ErrMissing) {
		missing, err = true, nil
	}
	if r, again := k.host.Record(id); again == nil {
		err = errors.Join(err, k.send(ctx, r, t, in, missing))
	}
	return err
}

// send reports the workspace and sends its newest checkpoint if the orchestrator does not have them.
func (k *workspaceKeeper) send(ctx context.Context, r workspace.Record, t *tended, in *session, missing bool) error {
	if l := k.w.uplink(); l == nil || !l.can(wire.CapWorkspace) || time.Now().Before(t.again) {
		return nil
	}
	err := k.tell(ctx, t, r.ID, k.report(r, t, in, missing))
	if err == nil {
		err = k.verifyRelayed(ctx, &r, t)
	}
	if err == nil && r.Newest.Number > r.Relayed && r.Newest.Number != t.tooLarge {
		err = k.relay(ctx, r)
		if errors.Is(err, git.ErrTooLarge) {
			t.tooLarge = r.Newest.Number
			err = k.tell(ctx, t, r.ID, k.report(r, t, in, missing))
		}
	}
	if err != nil {
		t.again = time.Now().Add(relayRetry)
	}
	return err
}

// report returns the current report of a workspace.
func (k *workspaceKeeper) report(r workspace.Record, t *tended, in *session, missing bool) svc.WorkspaceReport {
	out := svc.WorkspaceReport{
		State: r.State(), Error: r.Error, Path: r.Path, BaseRef: r.BaseRef, BaseCommit: r.BaseCommit,
		Checkpoint: r.Newest.Number, Tree: r.Newest.Tree, Commit: r.Newest.Commit, Conflicts: r.Newest.Conflicts, SizeBytes: t.size,
	}
	if r.BaseFetchedAt != 0 {
		out.BaseFetchedAt = &r.BaseFetchedAt
	}
	switch {
	case missing:
		out.State = svc.WorkspaceMissing
	case out.State == svc.WorkspaceReady && in != nil:
		out.State = svc.WorkspaceBusy
	}
	switch {
	case out.Error != "":
	case t.tooLarge != 0 && t.tooLarge == r.Newest.Number:
		out.Error = svc.OnHostOnly + ": the checkpoint is larger than [worker] max_bundle_bytes"
	case t.failed != "":
		out.Error = "nothing was kept since checkpoint " + itoa(r.Newest.Number) + ": " + t.failed
	case r.Newest.Warnings != "":
		line, _, _ := strings.Cut(r.Newest.Warnings, "\n")
		out.Error = "not everything could be kept: " + line
	}
	out.Error = svc.Cut(out.Error, 2000)
	if in != nil {
		out.RunID, out.Attempt = in.a.RunID, in.a.Number
	}
	return out
}

// tell sends a report unless the orchestrator has accepted exactly the same one before.
func (k *workspaceKeeper) tell(ctx context.Context, t *tended, id string, report svc.WorkspaceReport) error {
	if t.reported != nil && reflect.DeepEqual(*t.reported, report) {
		return nil
	}
	body, err := svc.JSON(report)
	if err != nil {
		return err
	}
	if _, err := k.w.post(ctx, "/api/internal/workspaces/"+id+"/report", body); err != nil {
		return err
	}
	t.reported = &report
	return nil
}

// leaveWorkspace makes the last checkpoint of the session's working copy before the end is reported, and
// retries for a limited time to relay it.
func (s *session) leaveWorkspace(ctx context.Context) {
	if s.workspace == "" {
		return
	}
	s.mu.Lock()
	s.leaving = true
	s.mu.Unlock()
	k := s.w.keeper
	t := k.tended(s.workspace)
	within, cancel := context.WithTimeout(ctx, leaveWithin)
	defer cancel()
	err := t.lock(within)
	if err == nil {
		defer t.unlock()
		t.again = time.Time{}
		err = k.tend(within, s.workspace, t, nil, true)
	}
	for began := time.Now(); err != nil && s.w.uplink() != nil && time.Since(began) < relayedUntil && within.Err() == nil; {
		select {
		case <-within.Done():
		case <-time.After(keeperTick):
			err = k.tend(within, s.workspace, t, nil, true)
		}
	}
	if err != nil && ctx.Err() == nil {
		s.log.Warn("the last state of the run's working copy is not at the orchestrator yet", "workspace_id", s.workspace, "error", err)
	}
}
