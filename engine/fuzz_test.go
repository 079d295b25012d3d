package engine

import (
	"crypto/ed25519"
	"encoding/base64"
	"testing"
	"time"

	"svc/wire"
)

// FuzzProof tries headers of an uplink (key, challenge, signature) that no worker made. None may be accepted.
func FuzzProof(f *testing.F) {
	e := &Engine{Config: Config{SigningKey: []byte("0123456789abcdef0123456789abcdef"), Now: func() time.Time { return time.UnixMilli(1000) }}}
	host, instance := "7d3c1f0a-5b7e-4c55-9a57-0b6a1c9e2f11", "9a57c1f0-5b7e-4c55-9a57-0b6a1c9e2f22"
	key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	worker := key.Public().(ed25519.PublicKey)
	public := base64.StdEncoding.EncodeToString(worker)
	good := Hello{HostID: host, InstanceID: instance, BootID: "boot", Key: public, Challenge: e.challenge(host, instance)}
	good.Signature = base64.StdEncoding.EncodeToString(ed25519.Sign(key, wire.UplinkProof(host, instance, "boot", good.Challenge)))
	if !e.proves(good) {
		f.Fatal("a good proof is refused")
	}
	add := func(h Hello) { f.Add(h.HostID, h.InstanceID, h.BootID, h.Key, h.Challenge, h.Signature) }
	add(good)
	add(Hello{})
	add(Hello{HostID: host, InstanceID: instance, Key: public, Challenge: "00.9999999999999.", Signature: good.Signature})
	add(Hello{HostID: host, InstanceID: instance, Key: "AAAA", Challenge: "..", Signature: "===="})
	f.Fuzz(func(t *testing.T, host, instance, boot, key, challenge, signature string) {
		h := Hello{HostID: host, InstanceID: instance, BootID: boot, Key: key, Challenge: challenge, Signature: signature}
		e.challenges = challenges{}
		// The first seed is made by a worker and is accepted once. Each fuzzing process makes its own.
		raw, _ := base64.StdEncoding.DecodeString(signature)
		made := 0
		if ed25519.Verify(worker, wire.UplinkProof(host, instance, boot, challenge), raw) {
			made = 1
		}
		if e.proves(h) && (made == 0 || e.proves(h)) {
			t.Errorf("%+v is taken", h)
		}
		if len(e.challenges.used) > made {
			t.Errorf("%q is remembered", challenge)
		}
	})
}
