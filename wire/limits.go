package wire

import (
	"fmt"

	"svc"
)

// The limits of a worker's frame. A peer with a valid host token is not trusted with the orchestrator's memory: every
// string and every list has a maximum in bytes or elements. Longer texts are cut, with a note about it. A name that
// is too long is refused, because a part of it would be another name.
const (
	MaxText      = 4 << 10 // of texts: reasons, errors, hints
	MaxName      = 256     // of names and ids
	MaxCapture   = 1 << 20 // of a screen
	MaxSessions  = 10_000  // in the list of one frame
	MaxProviders = 100     // in a catalog
	maxReport    = 500     // of a text about one provider
)

// clipper is a frame with texts that are cut.
type clipper interface{ clip() }

func clip(texts ...*string) {
	for _, t := range texts {
		*t = svc.Cut(*t, MaxText)
	}
}

func (f *RunDispatchAck) clip() { clip(&f.Reason) }
func (f *KeysResult) clip()     { clip(&f.Error) }
func (f *AttachClosed) clip()   { clip(&f.Reason) }
func (f *RunHint) clip()        { clip(&f.Hint) }
func (f *Goodbye) clip()        { clip(&f.Reason) }
func (f *Goaway) clip()         { clip(&f.Reason) }
func (f *Heartbeat) clip() {
	clip(&f.CatalogError)
	if f.Refusing != nil {
		clip(&f.Refusing.Message)
	}
}
func (f *Providers) clip() {
	for id, p := range f.Providers {
		p.Version, p.Reason = svc.Cut(p.Version, maxReport), svc.Cut(p.Reason, maxReport)
		if p.Conversation != svc.ConversationMinted && p.Conversation != svc.ConversationByHook { // from a later version
			p.Conversation, p.Resumes = "", false
		}
		f.Providers[id] = p
	}
}

// checkName returns an error for a name that is too long.
func checkName(frame, field, value string) error {
	if len(value) > MaxName {
		return malformed("%s: %s has more than %d bytes", frame, field, MaxName)
	}
	return nil
}

func checkCount(frame, field string, n, most int) error {
	if n > most {
		return malformed("%s: %s has more than %d elements", frame, field, most)
	}
	return nil
}

// Identity is how a worker identifies itself when it opens the uplink.
type Identity struct{ HostID, InstanceID, BootID string }

// Check returns an error for an identity that is too long. Absent fields are allowed, because plain peers do not send
// them.
func (i Identity) Check() error {
	for header, value := range map[string]string{HeaderHostID: i.HostID, HeaderInstanceID: i.InstanceID, HeaderBootID: i.BootID} {
		if len(value) > MaxName {
			return fmt.Errorf("the header %s has more than %d bytes", header, MaxName)
		}
	}
	return nil
}
