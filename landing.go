package svc

import (
	"fmt"
	"strings"
	"unicode"
)

// LandHow says what landing makes of a checkpoint.
type LandHow string

// Squash is one commit on top of the target, merge a merge commit; push brings the checkpoint to the repository as the workspace's own branch,
// and moves nothing else.
const (
	LandSquash LandHow = "squash"
	LandMerge  LandHow = "merge"
	LandPush   LandHow = "push"
)

// LandingState is where a landing stands.
type LandingState string

// The states of a landing. Open: its host has not told what came of it.
const (
	LandingOpen   LandingState = "open"
	LandingDone   LandingState = "landed"
	LandingFailed LandingState = "failed"
)

// LandReason is why a landing failed. Nothing has moved then, except where it says that this is not known.
type LandReason string

// The reasons.
const (
	LandConflict      LandReason = "conflict"        // the change and the target have changed the same lines
	LandUnrelated     LandReason = "unrelated"       // the change and the target share no history
	LandNothing       LandReason = "nothing_to_land" // the target has everything
	LandChangeMoved   LandReason = "change_moved"    // something was written since the checkpoint
	LandTargetMissing LandReason = "target_missing"  // there is no such branch
	LandTargetMoved   LandReason = "target_moved"    // the branch was moved by others, again and again, or has what svc did not put there
	LandCheckout      LandReason = "checkout_in_use" // the branch is checked out where the landing would disturb somebody
	LandRefused       LandReason = "refused"         // by the repository
	LandUnreachable   LandReason = "unreachable"     // the repository cannot be reached
	LandWorkspaceGone LandReason = "workspace_gone"  // its host has no such workspace any more
	LandNoCheckpoint  LandReason = "checkpoint_gone" // its host has no such checkpoint
	LandGivenUp       LandReason = "given_up"        // by a person, before its host told what came of it: that is not known
)

// Landing is the bringing of a workspace's checkpoint into its repository.
type Landing struct {
	ID         string       `json:"id" doc:"UUID"`
	Checkpoint int          `json:"checkpoint"`
	How        LandHow      `json:"how" enum:"squash,merge,push"`
	Into       string       `json:"into" doc:"The branch"`
	Message    string       `json:"message" doc:"Of the commit"`
	By         string       `json:"by" doc:"Who asked for it, and the commit's author"`
	At         Time         `json:"at" doc:"When it was asked for, and the commit's date"`
	State      LandingState `json:"state" enum:"open,landed,failed" doc:"Open: its host has not told what came of it"`
	Commit     string       `json:"commit" doc:"That the branch got; empty: none so far"`
	Reason     LandReason   `json:"reason" enum:",conflict,unrelated,nothing_to_land,change_moved,target_missing,target_moved,checkout_in_use,refused,unreachable,workspace_gone,checkpoint_gone,given_up" doc:"Why it failed; empty: it did not"`
	Error      string       `json:"error" doc:"The same in words; while it is open, why its outcome is not known"`
	Conflicts  []string     `json:"conflicts" nullable:"false" doc:"Paths that both sides have changed"`
}

// NewLanding is what a caller gives to land a workspace.
type NewLanding struct {
	Checkpoint int
	How        LandHow
	Into       string // empty: the base's branch; of a push always the workspace's own
	Message    string // empty: one is made of the work item's title
}

const maxLandMessage = 64 << 10

// Validate names every field that is wrong.
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

// LandMessage is the message of a commit for which none was given.
func LandMessage(title string, w *Workspace, checkpoint int) string {
	return fmt.Sprintf("%s\n\nSvc-Workspace: %s\nSvc-Checkpoint: %d\n", title, w.ID, checkpoint)
}

// LandOrder is what a host is asked to land. The same order makes the same commit on the same target: its dates are those of the order.
type LandOrder struct {
	ID         string  `json:"id"` // of the landing
	Checkpoint int     `json:"checkpoint"`
	How        LandHow `json:"how"`
	Into       string  `json:"into"`
	Message    string  `json:"message"`
	By         string  `json:"by"`
	At         Time    `json:"at"`
}

// Validate refuses what no orchestrator of ours would ask for.
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

// Author is who the commit is by: a name, and an address that is no address.
func (o LandOrder) Author() (name, email string) {
	keep := func(r rune) rune {
		if r == '<' || r == '>' || unicode.IsControl(r) {
			return -1
		}
		return r
	}
	name = strings.Trim(strings.Map(keep, o.By), " .,:;\"'\\")
	if name == "" { // git takes no author without a name
		name = "svc"
	}
	return name, strings.ReplaceAll(name, " ", "-") + "@svc"
}

// LandOutcome is what a host tells of a landing.
type LandOutcome struct {
	ID        string       `json:"id"`    // of the landing
	State     LandingState `json:"state"` // open: it cannot be told so far, and Error says why
	Commit    string       `json:"commit,omitempty"`
	Reason    LandReason   `json:"reason,omitempty"`
	Error     string       `json:"error,omitempty"`
	Conflicts []string     `json:"conflicts,omitempty"`
}

// Validate refuses what no host of ours would say.
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

// Awaits says whether an outcome tells something of the landing that is not known. One that was given up is asked for no more, but what its
// host tells of it all the same is the truth.
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

// GiveUp ends a landing whose outcome nobody waits for any longer, and answers whether there was one.
func (l *Landing) GiveUp(by string) bool {
	if l == nil || l.State != LandingOpen {
		return false
	}
	why := "before its host told what came of it"
	if l.Error != "" {
		why += " (" + l.Error + ")"
	}
	l.State, l.Reason = LandingFailed, LandGivenUp
	l.Error = Cut(fmt.Sprintf("given up by %s %s; whether %s has the change is not known", by, why, l.Into), maxReportText)
	return true
}

// Settle takes over what a host tells of the workspace's landing, and answers whether that is its end.
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

// LandFailed says that the newest landing failed, and that nothing has happened since that makes it matter no more.
func (w *Workspace) LandFailed() bool {
	return w.Landing != nil && w.Landing.State == LandingFailed && w.Landing.Checkpoint == w.Checkpoint && !w.LandedAgain() && w.DiscardedAt == nil && w.State != WorkspaceRemoved
}

// LandedAgain says that the newest landing was one of what had been landed before.
func (w *Workspace) LandedAgain() bool {
	return w.Landing != nil && w.Landing.Reason == LandNothing && w.LandedCommit != "" && w.LandedCheckpoint == w.Landing.Checkpoint
}

// MaxConflicts is how many paths an outcome names.
const MaxConflicts = maxConflicts

// Order is what the host of a workspace is asked to do.
func (l Landing) Order() LandOrder {
	return LandOrder{ID: l.ID, Checkpoint: l.Checkpoint, How: l.How, Into: l.Into, Message: l.Message, By: l.By, At: l.At}
}
