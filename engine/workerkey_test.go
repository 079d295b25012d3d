package engine

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"testing"
	"time"

	"svc"
	"svc/wire"
)

// signer is a worker process with a key.
type signer struct {
	*worker
	key ed25519.PrivateKey
}

func (w *worker) withKey(seed byte) signer {
	text := make([]byte, ed25519.SeedSize)
	text[0] = seed
	return signer{w, ed25519.NewKeyFromSeed(text)}
}

func (k signer) public() string {
	return base64.StdEncoding.EncodeToString(k.key.Public().(ed25519.PublicKey))
}

// hello returns the hello of the process: it registers, and signs the challenge.
func (k signer) hello(boot string) Hello {
	k.s.t.Helper()
	registered, err := k.s.Register(k.s.ctx, wire.Registration{
		HostName: k.host.Name, Platform: "linux", InstanceID: k.instance, Capabilities: wire.Capabilities}, "")
	k.s.no(err)
	h := Hello{HostID: k.host.ID, InstanceID: k.instance, BootID: boot, Key: k.public(), Challenge: registered.Challenge}
	return k.sign(h)
}

func (k signer) sign(h Hello) Hello {
	proof := wire.UplinkProof(h.HostID, h.InstanceID, h.BootID, h.Challenge)
	h.Signature = base64.StdEncoding.EncodeToString(ed25519.Sign(k.key, proof))
	return h
}

// opens connects like the server does, and sends a heartbeat if it was admitted.
func (w *worker) opens(hello Hello) error {
	w.s.t.Helper()
	if err := w.s.Admit(w.s.ctx, &hello); err != nil {
		return err
	}
	send, next := w.raw(hello)
	send(wire.Heartbeat{HostID: w.host.ID, InstanceID: hello.InstanceID, Timestamp: 1})
	if _, ok := next().(*wire.HeartbeatAck); !ok {
		w.s.t.Error("the heartbeat was not answered")
	}
	return nil
}

func TestAfterASignedConnectionAHostsTokenAloneIsNotEnough(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.newHost("h")
		s.no(w.opens(Hello{HostID: w.host.ID, InstanceID: w.instance, BootID: "old"})) // an old worker has no key
		own := w.withKey(1)
		s.no(w.opens(own.hello("new")))
		if h := w.want(svc.HostOnline); h.WorkerKey == nil || *h.WorkerKey != own.public() || h.InstanceSuspect {
			t.Fatalf("the key is not pinned: %+v", h)
		}
		s.news()
		thief := w.withKey(2)
		s.wantCode("without a key", w.opens(Hello{HostID: w.host.ID, InstanceID: w.instance, BootID: "x"}), svc.CodeForbidden)
		s.wantCode("with another key", w.opens(thief.hello("x")), svc.CodeForbidden)
		s.wantTopics(svc.TopicWorkerSuspect)
		h := w.want(svc.HostOnline)
		if !h.InstanceSuspect || *h.WorkerKey != own.public() || *h.SuspectWorkerKey != thief.public() {
			t.Errorf("the host is %+v", h)
		}
		s.no(w.opens(own.hello("new"))) // its own worker connects as before
		_, err := s.ClearSuspect(s.ctx, h.ID)
		s.no(err)
		if h := w.want(svc.HostOnline); h.InstanceSuspect || *h.WorkerKey != own.public() {
			t.Errorf("a stranger's key was taken while the host's own worker is connected: %+v", h)
		}
	})
}

func TestAProofIsGoodOnceForAMinuteAndForItsHost(t *testing.T) {
	bubble(t, func(s *site) {
		w, other := s.newHost("h"), s.newHost("other")
		own := w.withKey(1)
		first := own.hello("a")
		s.no(w.opens(first))
		s.wantCode("the same again", w.opens(first), svc.CodeUnauthorized)
		late := own.hello("a")
		s.pass(challengeLife + time.Second)
		s.wantCode("late", w.opens(late), svc.CodeUnauthorized)
		forOther := own.sign(Hello{HostID: other.host.ID, InstanceID: w.instance, BootID: "a", Key: own.public(), Challenge: own.hello("a").Challenge})
		s.wantCode("for another host", other.opens(forOther), svc.CodeUnauthorized)
		for what, change := range map[string]func(*Hello){
			"another boot":        func(h *Hello) { h.BootID = "b" },
			"another instance":    func(h *Hello) { h.InstanceID = svc.NewID() },
			"another's signature": func(h *Hello) { h.Signature = w.withKey(2).sign(*h).Signature },
			"no signature":        func(h *Hello) { h.Signature = "" },
			"no challenge":        func(h *Hello) { h.Challenge = ""; *h = own.sign(*h) },
			"a broken key":        func(h *Hello) { h.Key = "AAAA" },
		} {
			h := own.hello("a")
			change(&h)
			s.wantCode(what, w.opens(h), svc.CodeUnauthorized)
		}
		s.no(w.opens(own.hello("a")))
	})
}

func TestTheAnswerToAHeartbeatHasTheChallengeOfTheNextConnection(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.newHost("h")
		own := w.withKey(1)
		first := own.hello("a")
		first.Capabilities = wire.Capabilities
		s.no(s.Admit(s.ctx, &first))
		send, next := w.raw(first)
		challenge := func() string {
			send(wire.Heartbeat{HostID: w.host.ID, InstanceID: w.instance, Timestamp: 1})
			return next().(*wire.HeartbeatAck).Challenge //nolint:forcetypeassert // checked by the test's failure
		}
		one, two := challenge(), challenge()
		if one == "" || one == two {
			t.Fatalf("challenges %q and %q, want two", one, two)
		}
		again := own.sign(Hello{HostID: w.host.ID, InstanceID: w.instance, BootID: "a", Key: own.public(), Challenge: two, Capabilities: wire.Capabilities})
		s.no(w.opens(again))
		s.wantCode("the same challenge again", w.opens(again), svc.CodeUnauthorized)
		foreign := w.withKey(2)
		stolen := foreign.sign(Hello{HostID: w.host.ID, InstanceID: w.instance, BootID: "a", Key: foreign.public(), Challenge: one})
		s.wantCode("another key", w.opens(stolen), svc.CodeForbidden)
	})
}

func TestAWorkerThatComesBackUnchangedIsNotWritten(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.newHost("h")
		own := w.withKey(1)
		s.no(w.opens(own.hello("a")))
		ended, end := context.WithCancel(s.ctx)
		end()
		link, _ := s.Hub.Uplinks.Of(w.host.ID)
		writes := func(h Hello) bool {
			s.no(s.Admit(s.ctx, &h))
			c := &uplinkConn{e: s.Engine, link: link, hello: h}
			return c.noteWorker(ended) != nil // every write fails
		}
		if writes(own.hello("a")) {
			t.Error("a worker is written of which everything is recorded")
		}
		changed := own.hello("a")
		changed.Containment = "bwrap"
		if !writes(changed) {
			t.Error("a worker that runs its sessions in another way is not written")
		}
		old := own.hello("a")
		s.no(s.Admit(s.ctx, &old))
		_, err := s.DisableHost(s.ctx, w.host.ID)
		s.no(err)
		c := &uplinkConn{e: s.Engine, link: link, hello: old}
		if c.noteWorker(ended) == nil {
			t.Error("a record that was changed since it was read is taken for the newest")
		}
	})
}

func TestAReinstalledWorkerIsAcceptedByAnOperator(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.newHost("h")
		hello := w.withKey(1).hello("a")
		s.no(s.Admit(s.ctx, &hello))
		send, next := w.raw(hello)
		send(wire.Heartbeat{HostID: w.host.ID, InstanceID: w.instance, Timestamp: 1})
		next()
		send(wire.Goodbye{})
		s.pass(time.Second)
		again := &worker{s: s, host: w.host, instance: svc.NewID()}
		key := again.withKey(2)
		s.wantCode("the new key", again.opens(key.hello("b")), svc.CodeForbidden)
		_, err := s.ClearSuspect(s.ctx, w.host.ID)
		s.no(err)
		s.no(again.opens(key.hello("b")))
		if h := w.want(svc.HostOnline); h.InstanceSuspect || *h.WorkerKey != key.public() || *h.InstanceID != again.instance {
			t.Errorf("the host is %+v", h)
		}
	})
}

func TestWhoNamedItsBootOnceAndComesWithoutIsSuspect(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.newHost("h")
		w.register(wire.Capabilities...)
		w.boot("first")
		s.news()
		w.boot("") // with a stolen token, and an instance id, which is not secret
		if h := w.want(svc.HostOnline); !h.InstanceSuspect {
			t.Errorf("it is not suspect: %+v", h)
		}
		s.wantTopics(svc.TopicWorkerSuspect)
		s.wantStatus(s.run(on(w)), svc.RunPending)
	})
}

func TestAChangedCatalogIsJournaled(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.online("h")
		w.send(wire.Providers{CatalogHash: "one"})
		s.news()
		w.send(wire.Providers{CatalogHash: "one"})
		w.send(wire.Providers{CatalogHash: "two"})
		s.wantTopics(svc.TopicWorkerCatalog)
		if h := w.want(svc.HostOnline); h.CatalogHash != "two" {
			t.Errorf("the host has %q", h.CatalogHash)
		}
	})
}

func TestAWorkerThatSignsItsRequestsSignsAllOfThem(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.newHost("h")
		own, thief := w.withKey(1), w.withKey(2)
		proof := wire.RequestProof("POST", "/api/internal/runs/x/signals", "00")
		signature := func(k signer, text []byte) string {
			return base64.StdEncoding.EncodeToString(ed25519.Sign(k.key, text))
		}
		admit := func(signature string) error { return s.AdmitRequest(s.ctx, w.host.ID, proof, signature) }
		s.no(admit("")) // no key is pinned
		s.no(w.opens(signed(own, "a", wire.CapWorkerKey)))
		s.no(admit("")) // a worker of the previous version signs only connections
		s.no(w.opens(signed(own, "a", wire.Capabilities...)))
		s.news()
		s.no(admit(signature(own, proof)))
		for what, wrong := range map[string]string{
			"none": "", "no signature": "%", "another's": signature(thief, proof), "of another request": signature(own, wire.RequestProof("POST", "/api/internal/runs/y/signals", "00")),
			"of another body": signature(own, wire.RequestProof("POST", "/api/internal/runs/x/signals", "01")),
		} {
			s.wantCode(what, admit(wrong), svc.CodeUnauthorized)
		}
		s.wantTopics(svc.TopicWorkerSuspect)
		s.no(admit(signature(own, proof))) // requests of its own worker are accepted
		h, err := s.ClearSuspect(s.ctx, w.host.ID)
		s.no(err)
		if h.InstanceSuspect || value(h.WorkerKey) != own.public() {
			t.Errorf("the host is %+v", h)
		}
		s.no(w.opens(signed(own, "b", wire.CapWorkerKey))) // the previous version was installed again
		s.no(admit(""))
	})
}

// signed returns the hello of a worker with the given capabilities.
func signed(k signer, boot string, caps ...string) Hello {
	h := k.hello(boot)
	h.Capabilities = caps
	return h
}

func TestAConnectionWithAHostsTokenAndWithoutANameNeedsTheKeyToo(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.newHost("h")
		plain := Hello{OnlyHost: w.host.ID}
		s.no(s.Admit(s.ctx, &plain)) // until its worker has signed once
		s.no(w.opens(w.withKey(1).hello("a")))
		s.news()
		s.wantCode("nameless", s.Admit(s.ctx, &Hello{OnlyHost: w.host.ID}), svc.CodeForbidden)
		s.wantTopics(svc.TopicWorkerSuspect)
		s.no(s.Admit(s.ctx, &Hello{})) // with the token for all hosts it is checked when it names its host
	})
}
