package worker

import (
	"strings"
	"testing"

	"svc"
	"svc/wire"
)

func (l *lab) pasted(id string) *wire.KeysResult {
	l.t.Helper()
	var found *wire.KeysResult
	l.wait("result "+id, func() bool {
		for _, f := range framesOf[*wire.KeysResult](l.o) {
			if f.RequestID == id {
				found = f
			}
		}
		return found != nil
	})
	return found
}

// The program requests bracketed pastes, prints its input with every special byte visible, and ends at Enter.
func TestAMessageIsOnePasteAndAnEnterOfItsOwn(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.start()
	run := l.begin(`stty -echo -icrnl -icanon; printf '\033[?2004h'; echo ready; od -An -c -v -w1 -N 34 | tr -d ' \n'; echo; read more`)
	l.wait("the program", func() bool { return strings.Contains(l.o.log(run, 1), "ready") })
	text := "a\n\tb ü;$(x)"
	for range 3 { // a repeated request pastes nothing
		l.o.send(&wire.Paste{RequestID: "m", RunID: run, Attempt: 1, Text: text})
	}
	if r := l.pasted("m"); !r.OK {
		t.Fatalf("the paste was answered %+v", r)
	}
	l.o.send(&wire.Paste{RequestID: "n", RunID: run, Attempt: 1, Text: "c"})
	want := `033[200~a\r\tb303274;$(x)033[201~\r` + `033[200~c`
	l.wait("what was pasted", func() bool { return strings.Contains(l.o.log(run, 1), want) })
}

func TestAPasteThatCannotBeDoneIsRefused(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.start()
	run := l.begin(`read line`)
	for id, f := range map[string]wire.Paste{
		"escape": {RunID: run, Text: "x\x1b[201~rm"}, "c1": {RunID: run, Text: "x\u009b"}, "cr": {RunID: run, Text: "x\r"}, "del": {RunID: run, Text: "x\x7f"},
		"empty": {RunID: run, Text: " \n"}, "long": {RunID: run, Text: strings.Repeat("x", svc.MaxMessage+1)}, "other": {RunID: svc.NewRunID(), Text: "x"},
	} {
		f.RequestID, f.Attempt = id, 1
		l.o.send(&f)
		if r := l.pasted(id); r.OK || r.Error == "" {
			t.Errorf("%s: answered %+v, want a refusal", id, r)
		}
	}
	l.o.send(&wire.Keys{RequestID: "enter", RunID: run, Attempt: 1, Keys: []string{"Enter"}})
	l.finished(run, 1)
	l.o.send(&wire.Paste{RequestID: "late", RunID: run, Attempt: 1, Text: "x"})
	if r := l.pasted("late"); r.OK {
		t.Errorf("a session that ended was answered %+v", r)
	}
}
