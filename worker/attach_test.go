package worker

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"svc"
	"svc/process"
	"svc/tmux"
	"svc/wire"
)

// drawn returns what a relay has drawn so far.
func (o *orchestrator) drawn(id string) string {
	var all bytes.Buffer
	for _, f := range framesOf[*wire.AttachData](o) {
		if f.AttachID == id {
			all.Write(f.Bytes)
		}
	}
	return all.String()
}

func (o *orchestrator) sizes(id string) (sizes []paneSize) {
	for _, f := range framesOf[*wire.AttachResized](o) {
		if f.AttachID == id {
			sizes = append(sizes, paneSize{f.Cols, f.Rows})
		}
	}
	return sizes
}

// paneSizeOf reads the size of a run's pane from tmux.
func (l *lab) paneSizeOf(run string) paneSize {
	l.t.Helper()
	rec := l.record(run)
	found, err := tmux.Server{Socket: rec.Session.Socket}.Inspect(l.t.Context(), process.ID{})
	if err != nil {
		l.t.Fatal(err)
	}
	return paneSize{found.Cols, found.Rows}
}

func TestAnAttachedTerminalTypesSeesAndResizes(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.start()
	run := l.begin(`echo welcome; while read line; do echo "got $line"; done`)
	l.wait("the screen", l.o.shows(run, "welcome"))
	for _, id := range []string{"one", "two"} {
		l.o.send(&wire.AttachOpen{AttachID: id, RunID: run, Attempt: 1, Rows: 50, Cols: 220})
		l.wait("the whole screen for "+id, func() bool { return strings.Contains(l.o.drawn(id), "welcome") })
	}
	l.o.send(&wire.AttachInput{AttachID: "one", Bytes: []byte("hello;\r")})
	for _, id := range []string{"one", "two"} {
		l.wait("the echo at "+id, func() bool { return strings.Contains(l.o.drawn(id), "got hello;") })
	}
	l.o.send(&wire.AttachResize{AttachID: "one", Rows: 30, Cols: 100})
	for _, id := range []string{"one", "two"} {
		l.wait("the new size at "+id, func() bool { return slices.Contains(l.o.sizes(id), paneSize{100, 30}) })
	}
	if got := l.paneSizeOf(run); got != (paneSize{100, 30}) {
		t.Errorf("pane is %v, want 100x30", got)
	}
	l.o.send(&wire.AttachClose{AttachID: "one"})
	l.o.send(&wire.AttachInput{AttachID: "two", Bytes: []byte("again\r")})
	l.wait("the echo at two", func() bool { return strings.Contains(l.o.drawn("two"), "got again") })
	if got := l.paneSizeOf(run); got != (paneSize{100, 30}) {
		t.Errorf("pane is %v while someone is attached, want 100x30", got)
	}
	l.o.send(&wire.AttachClose{AttachID: "two"})
	l.wait("the size of the start", func() bool { return l.paneSizeOf(run) == paneSize{220, 50} })
}

// A viewer draws what a larger terminal shows only after it has the new size: otherwise the lower rows would scroll the
// upper ones away, and tmux would not draw them again.
func TestALargerSizeIsReportedBeforeAnythingIsDrawnInIt(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.start()
	run := l.begin(`i=0; while test $i -lt 60; do i=$((i+1)); echo "<$i>"; done; read line`)
	l.wait("the screen", l.o.shows(run, "<60>"))
	const onlyInLarge = "<20>"
	l.o.send(&wire.AttachOpen{AttachID: "a", RunID: run, Attempt: 1, Rows: 50, Cols: 220})
	l.wait("the whole screen", func() bool { return strings.Contains(l.o.drawn("a"), onlyInLarge) })
	frames := func() []wire.Frame { return framesOf[wire.Frame](l.o) }
	drawsAll := func(f wire.Frame) bool {
		data, ok := f.(*wire.AttachData)
		return ok && bytes.Contains(data.Bytes, []byte(onlyInLarge))
	}
	reportsLarge := func(f wire.Frame) bool {
		size, ok := f.(*wire.AttachResized)
		return ok && size.Rows == 50
	}
	for i, key := range "#%&*+," { // none of them is part of a control sequence
		l.o.send(&wire.AttachResize{AttachID: "a", Rows: 30, Cols: 100})
		l.wait("the smaller size", func() bool { return len(l.o.sizes("a")) == 2*i+2 })
		l.o.send(&wire.AttachInput{AttachID: "a", Bytes: []byte(string(key))}) // what is drawn next is sent at once, like an echo
		l.wait("the echo, which comes after all that was drawn in the larger size", func() bool { return strings.ContainsRune(l.o.drawn("a"), key) })
		before := len(frames())
		l.o.send(&wire.AttachResize{AttachID: "a", Rows: 50, Cols: 220})
		l.wait("the whole screen again", func() bool { return slices.ContainsFunc(frames()[before:], drawsAll) })
		since := frames()[before:]
		if drawn, sized := slices.IndexFunc(since, drawsAll), slices.IndexFunc(since, reportsLarge); sized < 0 || drawn < sized {
			t.Fatal("the whole screen came before its size")
		}
	}
}

// A viewer that shows only a part of a larger screen ignores what is drawn before it has the smaller size, and tmux does
// not draw it again.
func TestASmallerSizeIsReportedBeforeTheScreenIsDrawnInIt(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.opts.TmuxBin = lateTmux(t, "resize-window")
	l.start()
	run := l.begin(`echo welcome; read line`)
	l.wait("the screen", l.o.shows(run, "welcome"))
	l.o.send(&wire.AttachOpen{AttachID: "a", RunID: run, Attempt: 1, Rows: 50, Cols: 220})
	frames := func() []wire.Frame { return framesOf[wire.Frame](l.o) }
	// drawnIn reports whether the screen was drawn after the report of a size, which is one of since.
	drawnIn := func(since []wire.Frame, rows int) bool {
		sized := slices.IndexFunc(since, func(f wire.Frame) bool {
			size, ok := f.(*wire.AttachResized)
			return ok && size.Rows == rows
		})
		return sized >= 0 && slices.ContainsFunc(since[sized:], func(f wire.Frame) bool {
			data, ok := f.(*wire.AttachData)
			return ok && bytes.Contains(data.Bytes, []byte("welcome"))
		})
	}
	l.wait("the whole screen", func() bool { return drawnIn(frames(), 50) })
	for _, size := range []paneSize{{100, 30}, {220, 50}} {
		before := len(frames())
		l.o.send(&wire.AttachResize{AttachID: "a", Rows: size.rows, Cols: size.cols})
		l.wait("the screen after the new size", func() bool { return drawnIn(frames()[before:], size.rows) })
	}
}

func TestTheEndOfASessionClosesItsRelays(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.start()
	run := l.begin(`echo welcome; read line; exit 0`)
	l.o.send(&wire.AttachOpen{AttachID: "a", RunID: run, Attempt: 1, Rows: 50, Cols: 220})
	l.wait("the screen", func() bool { return strings.Contains(l.o.drawn("a"), "welcome") })
	l.o.send(&wire.AttachInput{AttachID: "a", Bytes: []byte("\r")})
	closed := func(id string) func() bool {
		return func() bool {
			return slices.ContainsFunc(framesOf[*wire.AttachClosed](l.o), func(f *wire.AttachClosed) bool {
				return f.AttachID == id && f.Reason != ""
			})
		}
	}
	l.wait("attach_closed", closed("a"))
	l.finished(run, 1)
	l.o.send(&wire.AttachOpen{AttachID: "late", RunID: run, Attempt: 1, Rows: 50, Cols: 220})
	l.wait("a late relay to be refused", closed("late"))
	l.cleared(run, 1)
	l.idle()
}

func TestAFloodReachesAnAttachedTerminalInAtMostTenFramesASecond(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.start()
	run := l.begin(`read line; i=0; while test $i -lt 20000; do i=$((i+1)); echo "line $i of a flood"; done; echo over; read line`)
	l.o.send(&wire.AttachOpen{AttachID: "a", RunID: run, Attempt: 1, Rows: 50, Cols: 220})
	l.wait("the relay", func() bool { return l.o.drawn("a") != "" })
	frames := len(framesOf[*wire.AttachData](l.o))
	began := time.Now()
	l.o.send(&wire.AttachInput{AttachID: "a", Bytes: []byte("\r")})
	l.wait("the end of the flood", func() bool { return strings.Contains(l.o.drawn("a"), "over") })
	sent := len(framesOf[*wire.AttachData](l.o)) - frames
	if most := int(time.Since(began)/frameGap) + 2; sent > most {
		t.Errorf("%d frames in %s, want at most %d", sent, time.Since(began), most)
	}
}

func TestADroppedUplinkEndsItsRelaysAndTheSessionGetsItsSizeBack(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.start()
	run := l.begin(`read line`)
	l.o.send(&wire.AttachOpen{AttachID: "a", RunID: run, Attempt: 1, Rows: 20, Cols: 80})
	l.wait("the size of the lease", func() bool { return l.paneSizeOf(run) == paneSize{80, 20} })
	l.o.cut()
	l.wait("the size of the start", func() bool { return l.paneSizeOf(run) == paneSize{220, 50} })
}

func TestKeysAreJudgedHere(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		keys         []string
		plain, named string // what is typed for a peer without and with names; empty: refused
	}{
		{[]string{"yes", "Enter"}, "yes\r", "yes\r"},
		{[]string{"Ctrl+C"}, "\x03", "\x03"},
		{[]string{"Z9"}, "Z9", "Z9"},
		{nil, "", ""},
		{[]string{""}, "", ""},
		{[]string{"rm -rf /"}, "", ""},
		{[]string{"ok", "Escape!"}, "", ""},
		{[]string{"ä"}, "", ""},
		{[]string{"a;b"}, "", ""},
		{[]string{"a\n"}, "", ""},
		{[]string{"Ctrl+D", "Ctrl+d"}, "", "\x04\x04"},
		{[]string{"Ctrl+"}, "", ""},
		{[]string{"Ctrl+1"}, "", ""},
		{[]string{"Ctrl+AB"}, "", ""},
		{[]string{"Escape", "Up"}, "EscapeUp", "\x1b<Up>"},
		{[]string{"Left", "Right", "Down"}, "LeftRightDown", "<Left><Right><Down>"},
		{[]string{"Tab", "Space", "Backspace"}, "TabSpaceBackspace", "\t \x7f"},
		{[]string{"text:two words; ä", "text:Up"}, "", "two words; äUp"},
		{[]string{"text:"}, "", ""},
		{[]string{"text:a\nb"}, "", ""},
		{[]string{"text:a\x1b[A"}, "", ""},
		{[]string{"text:\u0085"}, "", ""},
		{[]string{"text:\xff"}, "", ""},
	} {
		for names, want := range map[bool]string{false: c.plain, true: c.named} {
			strokes, err := parseKeys(c.keys, names)
			got := ""
			for _, s := range strokes {
				got += s.bytes
				if s.key != "" {
					got += "<" + string(s.key) + ">"
				}
			}
			if got != want || (err == nil) != (want != "") {
				t.Errorf("parseKeys(%q, %v) = %q, %v; want %q", c.keys, names, got, err, want)
			}
		}
	}
}

func TestNamedKeysAreSpelledAsTheProgramWantsThem(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.start()
	// The program selects the other byte sequences for arrows, and prints the bytes that it got.
	run := l.begin(`stty raw -echo; printf '\033[?1hready'; head -c 15 | od -An -tx1`)
	l.wait("the program to read", func() bool { return strings.Contains(l.o.log(run, 1), "ready") })
	l.o.send(&wire.Keys{RequestID: "1", RunID: run, Attempt: 1,
		Keys: []string{"Escape", "Up", "Tab", "Space", "Backspace", "Ctrl+R", "text:hi ä", "Enter", "Ctrl+C"}})
	want := "1b 1b 4f 41 09 20 7f 12 68 69 20 c3 a4 0d 03"
	l.wait("the bytes "+want, func() bool { return strings.Contains(l.o.log(run, 1), want) })
}

func TestKeysReachALiveSessionAndNoOther(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.start()
	run := l.begin(`read line; echo "read $line"; read more`)
	result := func(id string) *wire.KeysResult {
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
	for i, word := range []string{"a", "b", "c", "d"} { // in order, though each is a request
		l.o.send(&wire.Keys{RequestID: itoa(i), RunID: run, Attempt: 1, Keys: []string{word}})
	}
	for range 3 { // a repeated request types nothing
		l.o.send(&wire.Keys{RequestID: "3", RunID: run, Attempt: 1, Keys: []string{"d"}})
	}
	l.o.send(&wire.Keys{RequestID: "enter", RunID: run, Attempt: 1, Keys: []string{"Enter"}})
	if r := result("enter"); !r.OK {
		t.Errorf("keys = %+v, want ok", r)
	}
	l.wait("what was typed", func() bool { return strings.Contains(l.o.log(run, 1), "read abcd\r\n") })
	l.wait("an answer to each request", func() bool {
		n := 0
		for _, f := range framesOf[*wire.KeysResult](l.o) {
			if f.RequestID == "3" && f.OK {
				n++
			}
		}
		return n == 4
	})
	l.o.send(&wire.Keys{RequestID: "bad", RunID: run, Attempt: 1, Keys: []string{"rm -rf /"}})
	if r := result("bad"); r.OK || !strings.Contains(r.Error, "rm -rf /") {
		t.Errorf("keys = %+v, want a refusal that names the key", r)
	}
	l.o.send(&wire.Keys{RequestID: "other", RunID: svc.NewRunID(), Attempt: 1, Keys: []string{"a"}})
	if r := result("other"); r.OK || r.Error == "" {
		t.Errorf("keys = %+v, want a refusal", r)
	}
}
