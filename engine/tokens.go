package engine

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"strconv"
	"strings"
	"time"

	"svc"
	"svc/store"
)

// Tokens of runs and hosts are derived from the signing key and not stored: a token is valid if the same token can be
// derived again.
const (
	signalTokenPrefix = "svcr_"
	hostTokenPrefix   = svc.HostTokenPrefix
)

// rotationGrace is how long a host's former token works after a rotation, so that the worker can get the new one
// without an interruption.
const rotationGrace = 10 * time.Minute

func (e *Engine) sign(what, id string) string {
	mac := hmac.New(sha256.New, e.SigningKey)
	mac.Write([]byte(what + "\x00" + id))
	return hex.EncodeToString(mac.Sum(nil)[:20])
}

// Fingerprint distinguishes this installation from others that a browser may have seen under the same host name. It
// is not secret.
func (e *Engine) Fingerprint() string { return e.sign("fingerprint", "")[:8] }

// runTokenGrace is how long a run's token works after the end of the session: hooks that were started last may be
// slow.
const runTokenGrace = 10 * time.Minute

// runToken returns a token that is valid only for signals of one attempt of a run, while that attempt is assigned to
// its host. The token contains both, so it can be verified before the database is read.
func (e *Engine) runToken(r *svc.Run) string {
	return e.boundToken(r.ID, strconv.Itoa(r.Attempt)+"_"+strings.ReplaceAll(value(r.HostID), "-", ""))
}

func (e *Engine) boundToken(runID, to string) string {
	return signalTokenPrefix + to + "_" + e.sign("run", runID+"\x00"+to)
}

// unboundToken is the form of run tokens in earlier versions. It is accepted for attempts that those versions
// dispatched.
func (e *Engine) unboundToken(runID string) string { return signalTokenPrefix + e.sign("run", runID) }

// ReporterOfRun verifies a run's token and returns the reporter that it identifies.
func (e *Engine) ReporterOfRun(ctx context.Context, runID, token string) (Reporter, error) {
	rest, _ := strings.CutPrefix(token, signalTokenPrefix)
	number, rest, bound := strings.Cut(rest, "_")
	host, _, _ := strings.Cut(rest, "_")
	ours := e.unboundToken(runID)
	if bound {
		ours = e.boundToken(runID, number+"_"+host)
	}
	if subtle.ConstantTimeCompare([]byte(ours), []byte(token)) != 1 {
		return Reporter{}, errBadToken
	}
	r, err := e.live(ctx, runID)
	if svc.CodeOf(err) == svc.CodeNotFound {
		return Reporter{}, errBadToken
	} else if err != nil {
		return Reporter{}, err
	}
	attempt := r.Attempt
	if bound {
		attempt, _ = strconv.Atoi(number) // the number is covered by the signature
	}
	given := r.HostOf(attempt)
	if given == "" || bound && strings.ReplaceAll(given, "-", "") != host || !bound && r.PastHosts != nil || e.tokenOver(&r, attempt) {
		return Reporter{}, errBadToken
	}
	return Reporter{Host: given, Attempt: attempt}, nil
}

// tokenOver reports whether an attempt's session ended longer ago than the grace period.
func (e *Engine) tokenOver(r *svc.Run, attempt int) bool {
	over := r.SessionEndedAt
	if attempt < r.Attempt {
		over = &r.PendingSince // when the next attempt replaced it
	}
	return over != nil && e.now() >= over.Add(runTokenGrace)
}

// HostToken returns the worker token that is valid for one host only. It contains the host's id, so that it can be
// verified without a search through all hosts.
func (e *Engine) HostToken(ctx context.Context, idOrName string) (string, error) {
	h, err := e.Store.Host(ctx, idOrName)
	if err != nil {
		return "", err
	}
	generation, err := e.Store.HostTokenGeneration(ctx, h.ID)
	if err != nil {
		return "", err
	}
	return e.hostToken(h.ID, generation), nil
}

// RotateHostToken creates a new token for a host. The former token works until the end of rotationGrace.
func (e *Engine) RotateHostToken(ctx context.Context, idOrName string) (string, error) {
	type rotation struct { // stored for a retry: not the token itself
		HostID     string `json:"host_id"`
		Generation int64  `json:"generation"`
	}
	done, err := once(ctx, e.Store.Write, func(tx *store.Tx) (rotation, error) {
		h, err := tx.LockHost(ctx, idOrName)
		if err != nil {
			return rotation{}, err
		}
		generation, err := tx.HostTokenGeneration(ctx, h.ID)
		if err != nil {
			return rotation{}, err
		}
		generation++
		tx.Emit(svc.TopicHostRotated, h.EventPayload())
		return rotation{h.ID, generation}, tx.AddHostToken(ctx, h.ID, generation)
	})
	if err != nil {
		return "", err
	}
	return e.hostToken(done.HostID, done.Generation), nil
}

// hostToken returns one generation of a host's token. The first generation has no number.
func (e *Engine) hostToken(hostID string, generation int64) string {
	name := hostTokenPrefix + strings.ReplaceAll(hostID, "-", "") + "_"
	if generation == 0 {
		return name + e.sign("host", hostID)
	}
	number := strconv.FormatInt(generation, 10)
	return name + number + "_" + e.sign("host", hostID+"\x00"+number)
}

// HostOfToken verifies a host's token and returns the reporter that it identifies. The host must still exist, and a
// token that was replaced by a rotation must be within its grace period.
func (e *Engine) HostOfToken(ctx context.Context, token string) (Reporter, error) {
	rest, ok := strings.CutPrefix(token, hostTokenPrefix)
	if !ok || len(rest) < 34 {
		return Reporter{}, errBadToken
	}
	id := rest[:8] + "-" + rest[8:12] + "-" + rest[12:16] + "-" + rest[16:20] + "-" + rest[20:32]
	var generation int64
	if number, _, numbered := strings.Cut(rest[33:], "_"); numbered {
		generation, _ = strconv.ParseInt(number, 10, 64) // an invalid number gives a token that does not match
	}
	if !svc.IsID(id) || subtle.ConstantTimeCompare([]byte(e.hostToken(id, generation)), []byte(token)) != 1 {
		return Reporter{}, errBadToken
	}
	if _, exists, err := e.identities.ask(ctx, id); err != nil {
		return Reporter{}, err
	} else if !exists {
		return Reporter{}, errBadToken
	}
	made, replaced, err := e.Store.HostToken(ctx, id, generation)
	switch {
	case err != nil:
		return Reporter{}, err
	case generation > 0 && made == nil:
		return Reporter{}, errBadToken
	case replaced == nil:
		return Reporter{Host: id, Generation: generation}, nil
	}
	if e.now() >= replaced.Add(rotationGrace) {
		return Reporter{}, errBadToken
	}
	return Reporter{Host: id, Generation: generation}, nil
}
