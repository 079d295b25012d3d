package wire

import (
	"fmt"

	"svc"
)

// What a frame of a worker may hold. A peer that a host's token authenticates is not trusted with the
// orchestrator's memory: every string and every list has a bound in bytes or elements. Prose is cut, and says
// so; what names something is refused, because half a name is another one.
const (
	MaxText      = 4 << 10 // of prose: reasons, errors, hints
	MaxName      = 256     // of what names something
	MaxCapture   = 1 << 20 // of a screen
	MaxSessions  = 10_000  // that one frame lists
	MaxProviders = 100     // of a catalog
	maxReport    = 500     // of prose about one provider
)

// clipper is a frame with prose in it.
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
		if p.Conversation != svc.ConversationMinted && p.Conversation != svc.ConversationByHook { // of a version to come
			p.Conversation, p.Resumes = "", false
		}
		f.Providers[id] = p
	}
}

// short says that something that names a thing has a bounded length.
func short(frame, field, value string) error {
	if len(value) > MaxName {
		return malformed("%s: %s has more than %d bytes", frame, field, MaxName)
	}
	return nil
}

func few(frame, field string, n, most int) error {
	if n > most {
		return malformed("%s: %s has more than %d elements", frame, field, most)
	}
	return nil
}

// Identity is how a worker names itself when it opens the uplink.
type Identity struct{ HostID, InstanceID, BootID string }

// Check refuses names that nobody has. Absent ones are fine: a plain peer says nothing.
func (i Identity) Check() error {
	for header, value := range map[string]string{HeaderHostID: i.HostID, HeaderInstanceID: i.InstanceID, HeaderBootID: i.BootID} {
		if len(value) > MaxName {
			return fmt.Errorf("the header %s has more than %d bytes", header, MaxName)
		}
	}
	return nil
}
