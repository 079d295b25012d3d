package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"svc"
	"svc/git"
	"svc/rundir"
)

// landingRecord is this host's durable record of a landing. It is stored beside the workspace's record; there is at
// most one at a time.
type landingRecord struct {
	Order svc.LandOrder `json:"order"`
	// Commit is the commit of the checkpoint that is landed; empty: the checkpoint was not inspected yet.
	Commit string `json:"commit,omitempty"`
	// Tries are the attempts to move the target. Each is recorded before the target is moved.
	Tries []try `json:"tries,omitempty"`
	// Before are the tries of earlier orders for the same checkpoint and target that were given up. Their outcome is
	// unknown, so the target may have one of them too.
	Before []try `json:"before,omitempty"`
	// Outcome is the outcome of the order; nil: not known yet.
	Outcome *svc.LandOutcome `json:"outcome,omitempty"`
	// Pushed is the commit that the newest successful push has put on the workspace's own branch; empty: there was
	// none.
	Pushed string `json:"pushed,omitempty"`
	// Squashed is the newest squash. Git's history does not show which of the workspace's changes it contains.
	Squashed squash `json:"squashed,omitzero"`
}

// squash is a commit that has the whole change of a checkpoint. If a target has it, only what was written after that
// checkpoint is merged when a later checkpoint is landed.
type squash struct {
	Checkpoint string `json:"checkpoint"` // its commit
	Commit     string `json:"commit"`
}

// try is a commit on top of a tip of the target. An empty tip means that the branch did not exist.
type try struct {
	Tip    string `json:"tip"`
	Commit string `json:"commit"`
	// Silent: the push was sent to the remote, which has not answered. While the branch is at Tip, the remote may
	// still move it.
	Silent bool `json:"silent,omitempty"`
}

// same reports whether both are the same commit on the same tip.
func (t try) same(other try) bool { return t.Tip == other.Tip && t.Commit == other.Commit }

// mostTries is how often a landing is tried: once, and three times more if others moved the target.
const mostTries = 4

// The steps of a landing. Each is recorded before the action that follows it.
const (
	StepLand   Step = "land"   // the order is recorded
	StepMove   Step = "move"   // the commit is recorded, and the target is moved next
	StepMoved  Step = "moved"  // the target was moved; this is not recorded yet
	StepLanded Step = "landed" // the outcome is recorded
)

// Land lands a checkpoint in the workspace's repository exactly once. For an order that was interrupted it first
// finds out whether the target was moved. For an order with a recorded outcome it only returns that outcome. If the
// outcome is open, or an error is returned, the landing is not decided yet and the caller must call Land again later.
// An open outcome has the reason.
func (h Host) Land(ctx context.Context, id string, o svc.LandOrder) (out svc.LandOutcome, err error) {
	if err := o.Validate(); err != nil {
		return out, err
	}
	l, r, err := h.open(ctx, id)
	if errors.Is(err, ErrUnknown) {
		return failed(o, svc.LandWorkspaceGone, "this host no longer has the workspace; it is unknown whether it was landed"), nil
	}
	if err != nil {
		return out, err
	}
	defer func() { l.release(err) }()
	h.Git = l.under(h.Git)
	d, err := h.readLanding(id, o)
	if err != nil || d.Outcome != nil {
		return value(d.Outcome), err
	}
	if err := h.record(id, d, StepLand); err != nil {
		return out, err
	}
	if out, err = h.land(ctx, &r, &d, l.interrupted); err != nil || out.State == svc.LandingOpen {
		return out, err
	}
	if err := h.releaseLocks(r, o); err != nil {
		return svc.LandOutcome{}, err
	}
	d.Outcome = &out
	switch {
	case out.State != svc.LandingDone:
	case o.How == svc.LandPush:
		d.Pushed = out.Commit
	case o.How == svc.LandSquash:
		d.Squashed = squash{Checkpoint: d.Commit, Commit: out.Commit}
	}
	return out, h.record(id, d, StepLanded)
}

func value(o *svc.LandOutcome) svc.LandOutcome {
	if o == nil {
		return svc.LandOutcome{}
	}
	return *o
}

func failed(o svc.LandOrder, reason svc.LandReason, format string, args ...any) svc.LandOutcome {
	return svc.LandOutcome{ID: o.ID, State: svc.LandingFailed, Reason: reason, Error: plain(fmt.Sprintf(format, args...))}
}

func landed(o svc.LandOrder, commit string) svc.LandOutcome {
	return svc.LandOutcome{ID: o.ID, State: svc.LandingDone, Commit: commit}
}

// plain returns a text of git, or a path, as valid UTF-8 of limited length.
func plain(text string) string { return svc.Cut(strings.ToValidUTF8(text, "\uFFFD"), 2000) }

// readLanding reads the record of an order. If the record is of another order, only the fields that remain valid are
// kept.
func (h Host) readLanding(id string, o svc.LandOrder) (landingRecord, error) {
	var d landingRecord
	err := rundir.ReadRecord(h.keep(id, "landing"), &d)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return d, err
	}
	if d.Order.ID != o.ID {
		next := landingRecord{Order: o, Pushed: d.Pushed, Squashed: d.Squashed}
		if d.Outcome == nil && d.Order.Checkpoint == o.Checkpoint && d.Order.How == o.How && d.Order.Into == o.Into {
			next.Before = append(d.Before, d.Tries...)
		}
		d = next
	}
	return d, nil
}

func (h Host) record(id string, d landingRecord, step Step) error {
	if err := rundir.WriteRecord(h.keep(id, "landing"), d); err != nil {
		return err
	}
	h.reached(step)
	return nil
}

func (h Host) reached(step Step) {
	if h.at != nil {
		h.at(step)
	}
}

// land finds out whether an earlier try has moved the target, and makes the next try, until the target has the change
// or refuses it.
func (h Host) land(ctx context.Context, r *Record, d *landingRecord, interrupted bool) (svc.LandOutcome, error) {
	o := d.Order
	if d.Commit == "" {
		if out, err := h.takeCheckpoint(ctx, r, d, interrupted); err != nil || out.State != "" {
			return out, err
		}
	}
	private := h.private(h.Git, r.ID)
	var last try
	var refused error // why the last try failed
	for {
		tip, err := h.targetTip(ctx, *r, o)
		switch out := asOutcome(o, err); {
		case err == nil:
		case out.State == "" || ctx.Err() != nil:
			return svc.LandOutcome{}, err
		case len(d.Before)+len(d.Tries) > 0 && out.Reason == svc.LandUnreachable: // an earlier try may have moved the target
			return svc.LandOutcome{ID: o.ID, State: svc.LandingOpen, Error: out.Error}, nil
		default:
			return out, nil
		}
		commit, err := landedCommit(ctx, private, slices.Concat(d.Before, d.Tries), tip)
		if err != nil || commit != "" {
			return landed(o, commit), err
		}
		if refused != nil && tip == last.Tip {
			return asRefusal(*d, *r, refused, tip), nil
		}
		if len(d.Tries) >= mostTries && tip != d.Tries[len(d.Tries)-1].Tip {
			return failed(o, svc.LandTargetMoved, "others moved the branch %s %d times during the landing", o.Into, mostTries), nil
		}
		next, out, err := h.compose(ctx, private, *d, tip)
		if err != nil || out.State != "" {
			return out, err
		}
		last = try{Tip: tip, Commit: next}
		if err := h.tryMove(ctx, private, *r, *d, last); err != nil {
			if ctx.Err() != nil {
				return svc.LandOutcome{}, ctx.Err()
			}
			return failed(o, svc.LandRefused, "%s", reason(err)), nil
		}
		if len(d.Tries) == 0 || !d.Tries[len(d.Tries)-1].same(last) {
			d.Tries = append(d.Tries, last)
		}
		sent := &d.Tries[len(d.Tries)-1]
		before := sent.Silent
		sent.Silent = !r.Source.IsPath()
		if err := h.record(r.ID, *d, StepMove); err != nil {
			return svc.LandOutcome{}, err
		}
		if refused = h.move(ctx, private, *r, o, last); refused == nil {
			h.reached(StepMoved)
			return landed(o, next), nil
		}
		if errors.As(refused, new(*git.Refused)) { // the remote has answered this push
			sent.Silent = before
		}
		if ctx.Err() != nil {
			return svc.LandOutcome{}, ctx.Err()
		}
	}
}

// takeCheckpoint makes a checkpoint of the current content and checks that it is the checkpoint that was ordered.
func (h Host) takeCheckpoint(ctx context.Context, r *Record, d *landingRecord, interrupted bool) (svc.LandOutcome, error) {
	o := d.Order
	if !r.Handed || r.Newest.Number == 0 {
		return failed(o, svc.LandNoCheckpoint, "this host has no checkpoint of the workspace"), nil
	}
	if r.Ready() {
		if _, err := h.checkpoint(ctx, r, interrupted); err != nil && !errors.Is(err, ErrMissing) {
			return svc.LandOutcome{}, err
		}
	}
	switch {
	case r.Newest.Number > o.Checkpoint:
		return failed(o, svc.LandChangeMoved, "the workspace has changed since checkpoint %d; the newest is %d", o.Checkpoint, r.Newest.Number), nil
	case r.Newest.Number < o.Checkpoint:
		return failed(o, svc.LandNoCheckpoint, "this host has no checkpoint %d; the newest is %d", o.Checkpoint, r.Newest.Number), nil
	}
	d.Commit = r.Newest.Commit
	return svc.LandOutcome{}, nil
}

// targetTip updates the repository's mirror and returns the commit that the target names now. Empty: the order is a
// push and its branch does not exist.
func (h Host) targetTip(ctx context.Context, r Record, o svc.LandOrder) (string, error) {
	source := r.Source
	if source.Base = r.BaseRef; o.How != svc.LandPush {
		source.Base = o.Into
	}
	from, err := h.fetch(ctx, source, nil)
	if o.How != svc.LandPush {
		return from.commit, err
	}
	if errors.As(err, new(noBranch)) { // the base branch is gone, but a push does not need it
		source.Base = ""
		_, err = h.fetch(ctx, source, nil)
	}
	if err != nil {
		return "", err
	}
	tip, err := git.Repo{Program: h.Git, Dir: h.mirror(source.Repo)}.Commit(ctx, "refs/heads/"+o.Into)
	if errors.Is(err, git.ErrNotFound) {
		return "", nil
	}
	return tip, err
}

// asOutcome returns the failed outcome that an error of targetTip means. An outcome without a state means that
// targetTip must be tried again.
func asOutcome(o svc.LandOrder, err error) svc.LandOutcome {
	var failure *Failure
	switch {
	case errors.As(err, new(noBranch)):
		return failed(o, svc.LandTargetMissing, "the repository has no branch %q", o.Into)
	case errors.As(err, &failure):
		return failed(o, svc.LandUnreachable, "%s", reason(failure.Err))
	}
	return svc.LandOutcome{}
}

// landedCommit returns the commit of the try that is in the history of the target; empty: none.
func landedCommit(ctx context.Context, private git.Repo, tries []try, tip string) (string, error) {
	if tip == "" {
		return "", nil
	}
	for _, t := range tries {
		if has, err := private.Contains(ctx, tip, t.Commit); has || err != nil {
			return t.Commit, err
		}
	}
	return "", nil
}

// committer is the committer of landings.
var committer = git.Identity{Name: "svc", Email: "svc@localhost"}

// compose makes the commit that is to be put on top of the target's tip. If the returned outcome has a state, there
// is no commit.
func (h Host) compose(ctx context.Context, private git.Repo, d landingRecord, tip string) (next string, out svc.LandOutcome, err error) {
	o := d.Order
	if o.How == svc.LandPush {
		return h.composePush(ctx, private, d, tip)
	}
	tree, conflicts, err := h.merge(ctx, private, d, tip)
	switch {
	case errors.Is(err, git.ErrNotFound):
		return "", failed(o, svc.LandUnrelated, "the change and %s share no history", o.Into), nil
	case err != nil:
		return "", out, err
	case len(conflicts) > 0:
		out = failed(o, svc.LandConflict, "the branch %s and the change conflict in %s", o.Into, fileWords(len(conflicts)))
		for _, path := range conflicts[:min(len(conflicts), svc.MaxConflicts)] {
			out.Conflicts = append(out.Conflicts, plain(path))
		}
		return "", out, nil
	}
	before, err := private.TreeOf(ctx, tip)
	if err != nil {
		return "", out, err
	}
	if tree == before {
		return "", failed(o, svc.LandNothing, "%s has the whole change already", o.Into), nil
	}
	parents := []string{tip}
	if o.How == svc.LandMerge {
		parents = append(parents, d.Commit)
	}
	next, err = h.commit(ctx, private, o, tree, parents)
	return next, out, err
}

func fileWords(n int) string {
	if n == 1 {
		return "1 file"
	}
	return fmt.Sprintf("%d files", n)
}

// merge merges the checkpoint into the tip. If the tip contains a squash of an earlier checkpoint, only what was
// written after that checkpoint is merged: both sides are made children of a commit with the earlier checkpoint's
// tree, which git then uses as the common ancestor.
func (h Host) merge(ctx context.Context, private git.Repo, d landingRecord, tip string) (tree string, conflicts []string, err error) {
	if d.Squashed.Commit == "" {
		return private.MergeTree(ctx, tip, d.Commit)
	}
	// The squash may be on a branch that the mirror no longer has.
	if has, err := private.Contains(ctx, tip, d.Squashed.Commit); err != nil || !has {
		return private.MergeTree(ctx, tip, d.Commit)
	}
	var sides [3]string
	for i, commit := range []string{d.Squashed.Checkpoint, tip, d.Commit} {
		of, err := private.TreeOf(ctx, commit)
		if err != nil {
			return "", nil, err
		}
		var parents []string
		if i > 0 {
			parents = sides[:1]
		}
		if sides[i], err = private.NewCommit(of, parents, committer, "to merge "+commit+"\n"); err != nil {
			return "", nil, err
		}
	}
	return private.MergeTree(ctx, sides[1], sides[2])
}

// composePush returns the commit to push: the checkpoint itself or, if the checkpoint does not descend from the
// commit that was pushed before, a commit with the checkpoint's tree and both as parents. So the branch only moves
// forward.
func (h Host) composePush(ctx context.Context, private git.Repo, d landingRecord, tip string) (next string, out svc.LandOutcome, err error) {
	if tip == "" {
		return d.Commit, out, nil
	}
	if has, err := private.Contains(ctx, tip, d.Commit); has || err != nil {
		return "", landed(d.Order, tip), err
	}
	if forward, err := private.Contains(ctx, d.Commit, tip); forward || err != nil {
		return d.Commit, out, err
	}
	if tip != d.Pushed {
		return "", failed(d.Order, svc.LandTargetMoved, "the branch %s has commits that svc did not put there", d.Order.Into), nil
	}
	tree, err := private.TreeOf(ctx, d.Commit)
	if err != nil {
		return "", out, err
	}
	next, err = h.commit(ctx, private, d.Order, tree, []string{tip, d.Commit})
	return next, out, err
}

func (h Host) commit(ctx context.Context, private git.Repo, o svc.LandOrder, tree string, parents []string) (string, error) {
	name, email := o.Author()
	author, by := git.Identity{Name: name, Email: email, Unix: o.At.Std().Unix()}, committer
	by.Unix = author.Unix
	return private.NewCommitOf(tree, parents, author, by, strings.TrimRight(o.Message, "\n")+"\n")
}

// move moves the target. After an error the target may have moved all the same.
func (h Host) move(ctx context.Context, private git.Repo, r Record, o svc.LandOrder, t try) error {
	if r.Source.IsPath() {
		return h.swap(ctx, private, r, o, t)
	}
	return private.Push(ctx, r.Source.Repo, "refs/heads/"+o.Into, t.Commit, t.Tip)
}

// tryMove checks with a dry run, before anything is sent for an order, whether the remote accepts a push from this
// host. An error ends the landing as refused. After a first push it is not called again: a dry run would not show
// whether that push may still be carried out.
func (h Host) tryMove(ctx context.Context, private git.Repo, r Record, d landingRecord, t try) error {
	if r.Source.IsPath() || len(d.Before)+len(d.Tries) > 0 {
		return nil
	}
	err := private.TryPush(ctx, r.Source.Repo, "refs/heads/"+d.Order.Into, t.Commit, t.Tip)
	if errors.As(err, new(*git.Refused)) { // others moved the target: the push will report it
		return nil
	}
	return err
}

// asRefusal returns the outcome for a target that did not move. If the remote has not answered a push, it may still
// carry it out, even if it has refused another one. The outcome is then open.
func asRefusal(d landingRecord, r Record, err error, tip string) svc.LandOutcome {
	o := d.Order
	var in *checkoutInUse
	open := func(why string) svc.LandOutcome {
		return svc.LandOutcome{ID: o.ID, State: svc.LandingOpen, Error: plain(why + ": " + reason(err))}
	}
	switch {
	case errors.As(err, &in):
		return failed(o, svc.LandCheckout, "%s", in.Error())
	case !r.Source.IsPath() && !errors.As(err, new(*git.Refused)):
		return open("the repository did not answer the push")
	case slices.ContainsFunc(slices.Concat(d.Before, d.Tries), func(t try) bool { return t.Silent && t.Tip == tip }):
		return open("the repository did not answer a push and may still carry it out; it refused another push")
	}
	return failed(o, svc.LandRefused, "%s", reason(err))
}
