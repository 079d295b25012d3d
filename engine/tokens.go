package engine

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"strings"

	"svc"
)

// Tokens of runs and hosts are made from the signing key, so none is stored
// anywhere: a token is good when it can be made again.
const (
	signalTokenPrefix = "svcr_"
	hostTokenPrefix   = "svch_"
)

func (e *Engine) sign(what, id string) string {
	mac := hmac.New(sha256.New, e.SigningKey)
	mac.Write([]byte(what + "\x00" + id))
	return hex.EncodeToString(mac.Sum(nil)[:20])
}

// signalToken is good for signals of one run and for nothing else.
func (e *Engine) signalToken(runID string) string { return signalTokenPrefix + e.sign("run", runID) }

// SignalTokenOK says whether a token is the run's own.
func (e *Engine) SignalTokenOK(runID, token string) bool {
	return subtle.ConstantTimeCompare([]byte(e.signalToken(runID)), []byte(token)) == 1
}

// HostToken is the worker token that is good for one host alone. It names the
// host, so that a token can be checked without looking through all hosts.
func (e *Engine) HostToken(ctx context.Context, idOrName string) (string, error) {
	h, err := e.Store.Host(ctx, idOrName)
	if err != nil {
		return "", err
	}
	return e.hostToken(h.ID), nil
}

func (e *Engine) hostToken(hostID string) string {
	return hostTokenPrefix + strings.ReplaceAll(hostID, "-", "") + "_" + e.sign("host", hostID)
}

// HostOfToken is the host that a token is good for, if it is one of ours and
// the host still exists.
func (e *Engine) HostOfToken(ctx context.Context, token string) (string, bool) {
	rest, ok := strings.CutPrefix(token, hostTokenPrefix)
	if !ok || len(rest) < 33 {
		return "", false
	}
	id := rest[:8] + "-" + rest[8:12] + "-" + rest[12:16] + "-" + rest[16:20] + "-" + rest[20:32]
	if !svc.IsID(id) || subtle.ConstantTimeCompare([]byte(e.hostToken(id)), []byte(token)) != 1 {
		return "", false
	}
	_, err := e.Store.Host(ctx, id)
	return id, err == nil
}
