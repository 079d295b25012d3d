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

// Tokens of runs and hosts are made from the signing key, so none is stored
// anywhere: a token is good when it can be made again.
const (
	signalTokenPrefix = "svcr_"
	hostTokenPrefix   = svc.HostTokenPrefix
)

// rotationGrace is how long a host's former token works after a rotation, so
// that the worker can be given the new one without a pause.
const rotationGrace = 10 * time.Minute

func (e *Engine) sign(what, id string) string {
	mac := hmac.New(sha256.New, e.SigningKey)
	mac.Write([]byte(what + "\x00" + id))
	return hex.EncodeToString(mac.Sum(nil)[:20])
}

// Fingerprint tells this installation from others that a browser may know at
// the same host name. It is no secret.
func (e *Engine) Fingerprint() string { return e.sign("fingerprint", "")[:8] }

// runTokenGrace is how long a run's token works after the session's end: hooks
// of its last moments may be slow.
const runTokenGrace = 10 * time.Minute

// runToken is good for signals of one attempt of a run, as long as its host has
// it, and for nothing else. It names both, so that it can be checked before the
// database is asked.
func (e *Engine) runToken(r *svc.Run) string {
	return e.boundToken(r.ID, strconv.Itoa(r.Attempt)+"_"+strings.ReplaceAll(value(r.HostID), "-", ""))
}

func (e *Engine) boundToken(runID, to string) string {
	return signalTokenPrefix + to + "_" + e.sign("run", runID+"\x00"+to)
}

// unboundToken is what earlier versions gave a run. It works for attempts that
// were given away by them.
func (e *Engine) unboundToken(runID string) string { return signalTokenPrefix + e.sign("run", runID) }

// ReporterOfRun is who may report with a run's token.
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
		attempt, _ = strconv.Atoi(number) // we wrote it
	}
	given := r.HostOf(attempt)
	if given == "" || bound && strings.ReplaceAll(given, "-", "") != host || !bound && r.PastHosts != nil || e.tokenOver(&r, attempt) {
		return Reporter{}, errBadToken
	}
	return Reporter{Host: given, Attempt: attempt}, nil
}

// tokenOver says whether an attempt's session has been over for too long.
func (e *Engine) tokenOver(r *svc.Run, attempt int) bool {
	over := r.SessionEndedAt
	if attempt < r.Attempt {
		over = &r.PendingSince // when the next one took its place
	}
	return over != nil && e.now() >= over.Add(runTokenGrace)
}

// HostToken is the worker token that is good for one host alone. It names the
// host, so that a token can be checked without looking through all hosts.
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

// RotateHostToken makes a new token for a host. The former one works for some
// more minutes, then never again.
func (e *Engine) RotateHostToken(ctx context.Context, idOrName string) (string, error) {
	type rotation struct { // what is kept for a retry: not the token
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

// hostToken is a generation of a host's token. The first carries no number.
func (e *Engine) hostToken(hostID string, generation int64) string {
	name := hostTokenPrefix + strings.ReplaceAll(hostID, "-", "") + "_"
	if generation == 0 {
		return name + e.sign("host", hostID)
	}
	number := strconv.FormatInt(generation, 10)
	return name + number + "_" + e.sign("host", hostID+"\x00"+number)
}

// HostOfToken is the host that a token is good for: one of ours, that no
// rotation replaced for longer than the grace, of a host that still exists.
func (e *Engine) HostOfToken(ctx context.Context, token string) (Reporter, error) {
	rest, ok := strings.CutPrefix(token, hostTokenPrefix)
	if !ok || len(rest) < 34 {
		return Reporter{}, errBadToken
	}
	id := rest[:8] + "-" + rest[8:12] + "-" + rest[12:16] + "-" + rest[16:20] + "-" + rest[20:32]
	var generation int64
	if number, _, numbered := strings.Cut(rest[33:], "_"); numbered {
		generation, _ = strconv.ParseInt(number, 10, 64) // what is no number gives no token of ours
	}
	if !svc.IsID(id) || subtle.ConstantTimeCompare([]byte(e.hostToken(id, generation)), []byte(token)) != 1 {
		return Reporter{}, errBadToken
	}
	if _, err := e.Store.Host(ctx, id); svc.CodeOf(err) == svc.CodeNotFound {
		return Reporter{}, errBadToken
	} else if err != nil {
		return Reporter{}, err
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
