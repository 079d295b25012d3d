package svc

import (
	"fmt"
	"strings"
	"unicode"
)

// LandHow is how a checkpoint is brought into its repository.
type LandHow string

// Squash makes one commit on top of the target, merge a merge commit. Push stores the checkpoint in the repository as
// the workspace's own branch, and moves no other branch.
const (
	LandSquash LandHow = "squash"
	LandMerge  LandHow = "merge"
	LandPush   LandHow = "push"
)

// LandingState is the state of a landing.
type LandingState string

// The states of a landing. Open: the host has not yet reported the outcome.
const (
	LandingOpen   LandingState = "open"
	LandingDone   LandingState = "landed"
	LandingFailed LandingState = "failed"
)

// LandReason is why a landing failed. The target has not moved then, except where the comment says that this is not
// known.
type LandReason string

// The reasons.
const (
	LandConflict      LandReason = "conflict"        // the change and the target have changed the same lines
	LandUnrelated     LandReason = "unrelated"       // the change and the target share no history
	LandNothing       LandReason = "nothing_to_land" // the target already has the whole change
	LandChangeMoved   LandReason = "change_moved"    // files were changed since the checkpoint
	LandTargetMissing LandReason = "target_missing"  // there is no such branch
	LandTargetMoved   LandReason = "target_moved"    // others moved the branch at every retry, or it has commits that svc did not put there
	LandCheckout      LandReason = "checkout_in_use" // the branch is checked out, and the landing would change files that are in use
	LandRefused       LandReason = "refused"         // the repository refused it
	LandUnreachable   LandReason = "unreachable"     // the repository cannot be reached
	LandWorkspaceGone LandReason = "workspace_gone"  // its host no longer has this workspace
	LandNoCheckpoint  LandReason = "checkpoint_gone" // its host does not have this checkpoint
	LandGivenUp       LandReason = "given_up"        // a person gave up before the host reported the outcome, so the outcome is not known
)

// Landing brings a workspace's checkpoint into its repository.
type Landing struct {
	ID         string       `json:"id" doc:"UUID"`
	Checkpoint int          `json:"checkpoint"`
	How        LandHow      `json:"how" enum:"squash,merge,push"`
	Into       string       `json:"into" doc:"The branch"`
	Message    string       `json:"message" doc:"Of the commit"`
	By         string       `json:"by" doc:"Name of the person who requested it; also the commit's author"`
	At         Time         `json:"at" doc:"When it was requested; also the commit's date"`
	State      LandingState `json:"state" enum:"open,landed,failed" doc:"Open: its host has not reported the outcome"`
	Commit     string       `json:"commit" doc:"The commit that the branch points to afterwards; empty: none so far"`
	Reason     LandReason   `json:"reason" enum:",conflict,unrelated,nothing_to_land,change_moved,target_missing,target_moved,checkout_in_use,refused,unreachable,workspace_gone,checkpoint_gone,given_up" doc:"Why it failed; empty: it did not"`
	Error      string       `json:"error" doc:"The reason as text; while it is open, why its outcome is not known"`
	Conflicts  []string     `json:"conflicts" nullable:"false" doc:"Paths that were changed on both sides"`
}

// NewLanding holds the fields of a request to land a workspace.
type NewLanding struct {
	Checkpoint int
	How        LandHow
	Into       string // empty: the base's branch; a push always goes to the workspace's own branch
	Message    string // empty: made from the work item's title
}

const maxLandMessage = 64 << 10

// Validate returns a validation error that names every wrong field, or nil.
func (n NewLanding) Validate() error {
	var bad Problems
	oneOf(&bad, "how", n.How, LandSquash, LandMerge, LandPush)
	if n.Checkpoint < 1 {
		bad.Add("checkpoint", "must be the number of a checkpoint")
	}
	switch {
	case n.Into != "" && n.How == LandPush:
		bad.Add("into", "a push goes to the workspace's own branch")
	case n.Into != "":
		bad.branch("into", n.Into)
	}
	bad.text("message", n.Message, maxLandMessage)
	return bad.Err()
}

// LandMessage returns the commit message that is used when the request has none.
func LandMessage(title string, w *Workspace, checkpoint int) string {
	return fmt.Sprintf("%s\n\nSvc-Workspace: %s\nSvc-Checkpoint: %d\n", title, w.ID, checkpoint)
}

// LandOrder tells a host what to land. Commit dates are taken from the order, so a repeated order makes the same
// commit on the same target.
type LandOrder struct {
	ID         string  `json:"id"` // of the landing
	Checkpoint int     `json:"checkpoint"`
	How        LandHow `json:"how"`
	Into       string  `json:"into"`
	Message    string  `json:"message"`
	By         string  `json:"by"`
	At         Time    `json:"at"`
}

// Validate returns a validation error for an order that no correct orchestrator would send.
func (o LandOrder) Validate() error {
	var bad Problems
	if !IsID(o.ID) {
		bad.Add("id", "must be a UUID")
	}
	oneOf(&bad, "how", o.How, LandSquash, LandMerge, LandPush)
	bad.branch("into", o.Into)
	if o.Checkpoint < 1 {
		bad.Add("checkpoint", "must be the number of a checkpoint")
	}
	return bad.Err()
}

// Author returns the name and the e-mail address of the commit's author. The address is not a real one.
func (o LandOrder) Author() (name, email string) {
	keep := func(r rune) rune {
		if r == '<' || r == '>' || unicode.IsControl(r) {
			return -1
		}
		return r
	}
	name = strings.Trim(strings.Map(keep, o.By), " .,:;\"'\\")
	if name == "" { // git requires a name
		name = "svc"
	}
	return name, strings.ReplaceAll(name, " ", "-") + "@svc"
}

// LandOutcome is a host's report about a landing.
type LandOutcome struct {
	ID        string       `json:"id"`    // of the landing
	State     LandingState `json:"state"` // open: the outcome is not known yet, and Error says why
	Commit    string       `json:"commit,omitempty"`
	Reason    LandReason   `json:"reason,omitempty"`
	Error     string       `json:"error,omitempty"`
	Conflicts []string     `json:"conflicts,omitempty"`
}

// Validate returns a validation error for an outcome that no correct host would report.
func (o LandOutcome) Validate() error {
	var bad Problems
	oneOf(&bad, "state", o.State, LandingOpen, LandingDone, LandingFailed)
	for name, text := range map[string]string{"id": o.ID, "reason": string(o.Reason), "error": o.Error} {
		bad.text(name, text, maxReportText)
	}
	bad.Object("commit", o.Commit)
	if o.State == LandingDone && o.Commit == "" {
		bad.Add("commit", "is missing")
	}
	if len(o.Conflicts) > maxConflicts {
		bad.Add("conflicts", "has more than %d elements", maxConflicts)
	}
	for _, path := range o.Conflicts {
		bad.text("conflicts", path, maxReportText)
	}
	return bad.Err()
}

// Awaits reports whether the outcome has news about the landing. A landing that was given up is not sent to the host
// again, but an outcome that the host reports for it later still counts.
func (l *Landing) Awaits(o LandOutcome) bool {
	switch {
	case l == nil || l.ID != o.ID:
		return false
	case l.State == LandingOpen:
		return o.State != LandingOpen || l.Error != o.Error
	default:
		return l.Reason == LandGivenUp && o.State != LandingOpen
	}
}

// GiveUp ends an open landing whose outcome is no longer awaited. It returns false when there is none.
func (l *Landing) GiveUp(by string) bool {
	if l == nil || l.State != LandingOpen {
		return false
	}
	why := "before its host reported the outcome"
	if l.Error != "" {
		why += " (" + l.Error + ")"
	}
	l.State, l.Reason = LandingFailed, LandGivenUp
	l.Error = Cut(fmt.Sprintf("given up by %s %s; whether %s has the change is not known", by, why, l.Into), maxReportText)
	return true
}

// Settle applies a host's outcome to the workspace's landing, and reports whether the landing has ended with it.
func (w *Workspace) Settle(o LandOutcome, now Time) (settled bool) {
	l := w.Landing
	if !l.Awaits(o) {
		return false
	}
	l.State, l.Commit, l.Reason, l.Error, l.Conflicts = o.State, o.Commit, o.Reason, o.Error, append([]string{}, o.Conflicts...)
	if o.State == LandingDone {
		w.LandedCommit, w.LandedInto, w.LandedAt, w.LandedCheckpoint = o.Commit, l.Into, &now, l.Checkpoint
	}
	return o.State != LandingOpen
}

// LandFailed reports whether the newest landing failed and still needs a person: it was of the newest checkpoint,
// that checkpoint was not landed before, and the workspace was neither discarded nor removed.
func (w *Workspace) LandFailed() bool {
	return w.Landing != nil && w.Landing.State == LandingFailed && w.Landing.Checkpoint == w.Checkpoint && !w.LandedAgain() && w.DiscardedAt == nil && w.State != WorkspaceRemoved
}

// LandedAgain reports whether the newest landing was of a checkpoint that had been landed before.
func (w *Workspace) LandedAgain() bool {
	return w.Landing != nil && w.Landing.Reason == LandNothing && w.LandedCommit != "" && w.LandedCheckpoint == w.Landing.Checkpoint
}

// MaxConflicts is the most paths that an outcome may list.
const MaxConflicts = maxConflicts

// Order returns the order that is sent to the workspace's host.
func (l Landing) Order() LandOrder {
	return LandOrder{ID: l.ID, Checkpoint: l.Checkpoint, How: l.How, Into: l.Into, Message: l.Message, By: l.By, At: l.At}
}
