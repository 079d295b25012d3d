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

// workspaceKeeper looks after the working copies of this host: checkpoints while an agent works, and whatever the orchestrator has not
// been told or sent. What there is to do is found on the disk, again and again, so that nothing depends on a memory.
type workspaceKeeper struct {
	w     *Worker
	host  workspace.Host
	wake  chan struct{}
	slots chan struct{} // holds a token for each workspace that is worked on, for slotTime at most

	mu sync.Mutex // guards of
	of map[string]*tended
}

// tended is what this process remembers of a workspace. Losing it costs a repetition.
type tended struct {
	busy     chan struct{} // of size one: who works on it has put a token in
	failed   string        // why the last checkpoint could not be made; empty: it was made
	next     time.Time     // of the next checkpoint while an agent works
	told     *svc.WorkspaceReport
	size     int64 // of the folder; 0: not measured
	tooLarge int   // the checkpoint that is too large to be sent; 0: none
	again    time.Time
	asked    *link      // the connection on which the orchestrator said that it has what it acknowledged
	landing  sync.Mutex // held while it is landed, or waits for that
}

// How often things are looked for.
const (
	keeperTick   = time.Second      // workspaces with a session
	keeperSweep  = 30 * time.Second // all of them
	keeperSlots  = 2
	slotTime     = 10 * time.Second // after it another workspace begins: one that an agent has made slow, or large, holds up no other
	relayRetry   = 5 * time.Second
	leaveWithin  = 2 * time.Minute  // for the last checkpoint of a session
	relayedUntil = 30 * time.Second // the end of a session is held back for the relay of it
)

func newKeeper(w *Worker) *workspaceKeeper {
	return &workspaceKeeper{
		w: w, host: workspace.Host{Dir: w.opts.Config.DataDir, Now: w.opts.Now}, wake: make(chan struct{}, 1),
		slots: make(chan struct{}, keeperSlots), of: map[string]*tended{},
	}
}

// workspaceOf is the id of a dispatch's working copy; empty: it has none.
func workspaceOf(f *wire.RunDispatch) string {
	if f.Workspace == nil {
		return ""
	}
	return f.Workspace.ID
}

// capabilities is what this worker can do: working copies need git.
func (w *Worker) capabilities(ctx context.Context) []string {
	v, err := w.keeper.host.Git.Version(ctx)
	if err == nil {
		return wire.Capabilities
	}
	w.log.Warn("this host makes no working copies", "error", err, "git", v.String(), "needs", git.MinVersion.String())
	return slices.DeleteFunc(slices.Clone(wire.Capabilities), func(c string) bool { return c == wire.CapWorkspace || c == wire.CapLand })
}

// lowDisk is why a host with too little disk space takes no runs; empty: it has enough, or that cannot be told.
func (w *Worker) lowDisk() string {
	least := w.opts.Config.Worker.MinFree
	free, err := atomicfile.DiskFree(w.opts.Config.DataDir)
	if err != nil || least <= 0 || free >= uint64(least) {
		return ""
	}
	return "the disk of " + w.opts.Config.DataDir + " has " + size(free) + " free; [worker] min_free asks for " + size(uint64(least))
}

// diskFree is how many bytes may still be written here; nil: that cannot be told.
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
					k.w.log.Warn("a workspace is not kept; trying again", "workspace_id", id, "error", err)
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

// live is the workspaces that a session lives in.
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

// ids is the workspaces to look at.
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

// lock waits until nobody works on it, or ctx ends.
func (t *tended) lock(ctx context.Context) error {
	select {
	case t.busy <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (t *tended) unlock() { <-t.busy }

// slot waits until few enough workspaces are worked on. release may be called late: by then the slot is given to another.
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

// tend does what is due for a workspace: a checkpoint while an agent works in it or when it is asked for, what the orchestrator
// does not know, what it does not have.
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
		if now || t.size == 0 { // it takes about as long as a checkpoint, and nothing is decided by it
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

// send tells and sends what the orchestrator does not have.
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

// report is everything that the host knows of a workspace.
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

// tell reports a workspace unless the orchestrator was told exactly that before.
func (k *workspaceKeeper) tell(ctx context.Context, t *tended, id string, report svc.WorkspaceReport) error {
	if t.told != nil && reflect.DeepEqual(*t.told, report) {
		return nil
	}
	body, err := svc.JSON(report)
	if err != nil {
		return err
	}
	if _, err := k.w.post(ctx, "/api/internal/workspaces/"+id+"/report", body); err != nil {
		return err
	}
	t.told = &report
	return nil
}

// leaveWorkspace keeps what the session has written, before its end is told, and gives the orchestrator some time to take it.
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
		s.log.Warn("the last state of the run's working copy is not with the orchestrator yet", "workspace_id", s.workspace, "error", err)
	}
}
