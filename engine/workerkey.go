package engine

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"strconv"
	"strings"
	"sync"
	"time"

	"svc"
	"svc/store"
	"svc/wire"
)

// A worker has a key pair and signs each connection that it opens. The host's row pins the key of the first such
// connection; from then on the host's token alone opens no connection. The signed text contains a challenge of the
// orchestrator, which is part of the registration's response and of the answers to heartbeats: a worker that lost its
// connection can connect again without a registration. A challenge is valid for one connection and for
// challengeLife by the orchestrator's clock, so the worker's clock does not matter. That is long enough for a worker that
// had its challenge one heartbeat before an outage, and then waits for its turn more than once.
const challengeLife = 3 * time.Minute

// challenges stores the used challenges until they expire.
type challenges struct {
	mu   sync.Mutex // guards the rest
	used map[string]bool
	list []usedChallenge // in the order of their use, which is almost that of their expiry
}

type usedChallenge struct {
	challenge string
	until     svc.Time
}

// use reports whether a challenge is used for the first time.
func (c *challenges) use(challenge string, now, until svc.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.list) > 0 && now > c.list[0].until {
		delete(c.used, c.list[0].challenge)
		c.list = c.list[1:]
	}
	if c.used[challenge] {
		return false
	}
	if c.used == nil {
		c.used = map[string]bool{}
	}
	c.used[challenge] = true
	c.list = append(c.list, usedChallenge{challenge, until})
	return true
}

// challenge returns a challenge for a worker instance to sign. It contains everything that is needed to verify it, so
// issued challenges need not be stored.
func (e *Engine) challenge(hostID, instanceID string) string {
	var nonce [16]byte
	rand.Read(nonce[:]) // crypto/rand never fails
	text := hex.EncodeToString(nonce[:]) + "." + strconv.FormatInt(int64(e.now().Add(challengeLife)), 10)
	return text + "." + e.sign("challenge", hostID+"\x00"+instanceID+"\x00"+text)
}

func (e *Engine) challengeOK(challenge, hostID, instanceID string) bool {
	cut := strings.LastIndexByte(challenge, '.')
	if cut < 0 {
		return false
	}
	text, sum := challenge[:cut], challenge[cut+1:]
	_, digits, _ := strings.Cut(text, ".")
	until, err := strconv.ParseInt(digits, 10, 64)
	want := e.sign("challenge", hostID+"\x00"+instanceID+"\x00"+text)
	now := e.now()
	if err != nil || subtle.ConstantTimeCompare([]byte(sum), []byte(want)) != 1 || now > svc.Time(until) {
		return false
	}
	return e.challenges.use(challenge, now, svc.Time(until))
}

// Admit checks who opens a connection for a host, before anything is sent on it. A peer with a key must have signed
// one of our challenges. A host with a pinned key refuses any other key, and peers without a key. A refusal for that
// reason marks the host as suspect, so that an operator notices it.
func (e *Engine) Admit(ctx context.Context, hello *Hello) error {
	id := cmp.Or(hello.HostID, hello.OnlyHost)
	if id == "" {
		return nil // a plain peer; it is checked when its first heartbeat names its host
	}
	h, exists, err := e.identities.ask(ctx, id)
	if err != nil {
		return err
	}
	if !exists || hello.OnlyHost != "" && id != hello.OnlyHost {
		return svc.Errorf(svc.CodeHostNotFound, "there is no host %.100q for this token", id)
	}
	if hello.Key != "" && !e.proves(*hello) {
		return svc.Errorf(svc.CodeUnauthorized, "the connection is not signed with the key that it names; register again")
	}
	if h.WorkerKey == nil || *h.WorkerKey == hello.Key {
		hello.admitted, hello.host = hello.HostID != "", &h
		if hello.admitted { // the proof is checked, and the connection may be open for months
			hello.Challenge, hello.Signature = "", ""
		}
		return nil
	}
	if err := e.suspectKey(ctx, h.ID, hello.InstanceID, hello.Key); err != nil {
		return err
	}
	return svc.Errorf(svc.CodeForbidden, "host %s is known by another key, and its token alone is not enough; "+
		"if its worker was installed anew, an operator accepts the new key with: svc host clear-suspect %s", h.Name, h.Name)
}

// proves reports whether a connection is signed with the key that it declares.
func (e *Engine) proves(hello Hello) bool {
	text := wire.UplinkProof(hello.HostID, hello.InstanceID, hello.BootID, hello.Challenge)
	return signedBy(hello.Key, text, hello.Signature) && e.challengeOK(hello.Challenge, hello.HostID, hello.InstanceID)
}

// signedBy reports whether a text is signed with a key; key and signature are base64.
func signedBy(key string, text []byte, signature string) bool {
	k, err := base64.StdEncoding.DecodeString(key)
	if err != nil || len(k) != ed25519.PublicKeySize {
		return false
	}
	s, err := base64.StdEncoding.DecodeString(signature)
	return err == nil && ed25519.Verify(k, text, s)
}

// AdmitRequest checks a request that was made with a host's own token. If the worker signs its requests, every
// request must be signed. So another holder of the token can neither report nor read anything, and an attempt marks
// the host as suspect.
func (e *Engine) AdmitRequest(ctx context.Context, hostID string, proof []byte, signature string) error {
	h, exists, err := e.identities.ask(ctx, hostID)
	if err != nil {
		return err
	}
	if !exists { // it was deleted since its token was checked
		return errBadToken
	}
	if h.WorkerKey == nil || !h.SignsRequests || signedBy(*h.WorkerKey, proof, signature) {
		return nil
	}
	if !h.InstanceSuspect {
		if err := e.suspectRequest(ctx, hostID); err != nil {
			return err
		}
	}
	return svc.Errorf(svc.CodeUnauthorized, "the request is not signed with the key of host %s, and its token alone is not enough", h.Name)
}

// suspectRequest marks the host as suspect: a peer has its token but not its key. There is no other key that could be
// accepted.
func (e *Engine) suspectRequest(ctx context.Context, hostID string) error {
	_, err := e.changeHost(ctx, hostID, func(tx *store.Tx, h *svc.Host) (bool, error) {
		if h.InstanceSuspect || h.WorkerKey == nil || !h.SignsRequests {
			return false, nil
		}
		h.InstanceSuspect = true
		p := h.EventPayload()
		p["instance_id"], p["suspect_instance_id"], p["unsigned_request"] = h.InstanceID, h.SuspectInstanceID, true
		tx.Emit(svc.TopicWorkerSuspect, p)
		return true, nil
	})
	return err
}

// suspectKey marks the host as suspect: a peer came with another key than the pinned one, or without a key.
func (e *Engine) suspectKey(ctx context.Context, hostID, instance, key string) error {
	_, err := e.changeHost(ctx, hostID, func(tx *store.Tx, h *svc.Host) (bool, error) {
		if h.WorkerKey == nil || h.SuspectWorkerKey != nil && *h.SuspectWorkerKey == key && h.InstanceSuspect {
			return false, nil
		}
		h.SuspectWorkerKey = &key
		if svc.IsID(instance) && value(h.InstanceID) != instance {
			h.SuspectInstanceID = &instance
		}
		if !h.InstanceSuspect {
			h.InstanceSuspect = true
			p := h.EventPayload()
			p["instance_id"], p["suspect_instance_id"], p["suspect_worker_key"] = h.InstanceID, h.SuspectInstanceID, key
			tx.Emit(svc.TopicWorkerSuspect, p)
		}
		return true, nil
	})
	return err
}

// noteWorker stores what the worker declared on the host's own connection: its key, if none is pinned yet; that it
// sends boot ids and signs requests; and how it runs sessions. It writes nothing if the host's record has all of it.
func (c *uplinkConn) noteWorker(ctx context.Context) error {
	if c.noted {
		return nil
	}
	if own, ok := c.e.Hub.Uplinks.Of(c.link.HostID); !ok || own != c.link {
		return nil
	}
	if h := c.hello.host; h == nil || !c.e.hosts.current(h) || c.declare(h) {
		_, err := c.e.changeHost(ctx, c.link.HostID, func(_ *store.Tx, h *svc.Host) (bool, error) { return c.declare(h), nil })
		if err != nil {
			return err
		}
	}
	c.noted, c.hello.host = true, nil
	return nil
}

// declare sets what the worker declared in its host's record. It returns whether that changes the record.
func (c *uplinkConn) declare(h *svc.Host) (changed bool) {
	before := *h
	if value(h.InstanceID) != c.link.InstanceID {
		return false
	}
	if h.WorkerKey == nil && c.hello.Key != "" && !h.InstanceSuspect {
		h.WorkerKey = &c.hello.Key
	}
	h.NamesBoot = h.NamesBoot || c.hello.BootID != ""
	h.SignsRequests = value(h.WorkerKey) != "" && value(h.WorkerKey) == c.hello.Key && c.link.Has(wire.CapSigned)
	h.Containment, h.Scopes = c.hello.Containment, c.hello.Scopes
	return value(h.WorkerKey) != value(before.WorkerKey) || h.NamesBoot != before.NamesBoot ||
		h.SignsRequests != before.SignsRequests || h.Containment != before.Containment || h.Scopes != before.Scopes
}
