package tmux

import (
	"errors"
	"strings"
	"testing"
)

// startRaw starts a program that prints mode and then writes every byte that is typed to a file.
func startRaw(t *testing.T, server Server, mode string) (session Session, typed string) {
	t.Helper()
	typed = file(server, "typed")
	session = start(t, server, Spec{Argv: shell(
		`stty raw -echo; printf '%b' "$2"; printf ready; exec cat > "$1"`, typed, mode)})
	awaitScreen(t, server, session.Pane, "ready")
	return session, typed
}

func allBytes() string {
	bytes := make([]byte, 256)
	for i := range bytes {
		bytes[i] = byte(i)
	}
	return string(bytes)
}

func TestSendKeysTypesEveryByteAsGiven(t *testing.T) {
	t.Parallel()
	server := newServer(t)
	session, typed := startRaw(t, server, "")
	keys := append([]string{allBytes(), Enter, CtrlC, Escape, "\x1b[A"}, hostile...)
	keys = append(keys, strings.Repeat("long ", 2000))
	if err := server.SendKeys(t.Context(), session.Pane, keys...); err != nil {
		t.Fatal(err)
	}
	awaitContent(t, typed, strings.Join(keys, ""))
	assertNotPwned(t, server)
}

func TestPressKeysSpellsKeysAsTheProgramAskedFor(t *testing.T) {
	t.Parallel()
	for mode, want := range map[string]string{"": "\x1b[A\x1b[B\x1b[C\x1b[D", `\033[?1h`: "\x1bOA\x1bOB\x1bOC\x1bOD"} {
		server := newServer(t)
		session, typed := startRaw(t, server, mode)
		if err := server.PressKeys(t.Context(), session.Pane, Up, Down, Right, Left); err != nil {
			t.Fatal(err)
		}
		awaitContent(t, typed, want)
		if err := server.PressKeys(t.Context(), session.Pane, "C-c"); err == nil {
			t.Error("a key that it does not know was pressed")
		}
	}
}

func TestCtrlCInterrupts(t *testing.T) {
	t.Parallel()
	server := newServer(t)
	session := start(t, server, Spec{Argv: shell(`trap 'echo caught; exec cat' INT; echo ready; while :; do read x; done`)})
	awaitScreen(t, server, session.Pane, "ready")
	if err := server.SendKeys(t.Context(), session.Pane, CtrlC); err != nil {
		t.Fatal(err)
	}
	awaitScreen(t, server, session.Pane, "caught")
}

func TestTypingReachesAPaneThatIsInAModeOfTmux(t *testing.T) {
	t.Parallel()
	server := newServer(t)
	session, typed := startRaw(t, server, "")
	for _, send := range []func() error{
		func() error { return server.SendKeys(t.Context(), session.Pane, "abc") },
		func() error { return server.Paste(t.Context(), session.Pane, "def") },
	} {
		if _, err := server.run(t.Context(), []string{"copy-mode", "-t", session.Pane}); err != nil {
			t.Fatal(err)
		}
		if err := send(); err != nil {
			t.Fatal(err)
		}
	}
	awaitContent(t, typed, "abcdef")
}

func TestPasteIsBracketedWhenTheProgramAskedForIt(t *testing.T) {
	t.Parallel()
	text := "first\r\nsecond; #{pid}\t$(touch pwned)\x1b[201~\x03\u009b漢\n"
	body := "first\rsecond; #{pid}\t$(touch pwned)[201~漢\r"
	for mode, want := range map[string]string{"": body, `\033[?2004h`: "\x1b[200~" + body + "\x1b[201~"} {
		server := newServer(t)
		session, typed := startRaw(t, server, mode)
		if err := server.Paste(t.Context(), session.Pane, text); err != nil {
			t.Fatal(err)
		}
		awaitContent(t, typed, want)
		assertNotPwned(t, server)
	}
}

func TestPasteOfALongText(t *testing.T) {
	t.Parallel()
	server := newServer(t)
	session, typed := startRaw(t, server, "")
	text := strings.Repeat("a prompt of some length ", 20000)
	if err := server.Paste(t.Context(), session.Pane, text); err != nil {
		t.Fatal(err)
	}
	awaitContent(t, typed, text)
}

func TestTypingToADeadPaneIsRefused(t *testing.T) {
	t.Parallel()
	server := newServer(t)
	start(t, server, Spec{Argv: shell(`echo farewell; sleep 0.2`)})
	session := awaitDead(t, server)
	if err := server.SendKeys(t.Context(), session.Pane, "x"); !errors.Is(err, ErrPaneDead) {
		t.Errorf("SendKeys: %v, want ErrPaneDead", err)
	}
	if err := server.Paste(t.Context(), session.Pane, "x"); !errors.Is(err, ErrPaneDead) {
		t.Errorf("Paste: %v, want ErrPaneDead", err)
	}
	v := attach(t, server, session.Pane, 80, 24)
	v.await(t, "farewell")
	v.keys(t, "x\x1b[200~pasted\x1b[201~")
	if err := v.Resize(90, 30); err != nil {
		t.Fatal(err)
	}
	eventually(t, "tmux has read the terminal", func() (bool, string) {
		out, err := server.run(t.Context(), []string{"list-clients", "-F", "#{client_width}"})
		return err == nil && string(out) == "90\n", string(out)
	})
	if found, err := server.Inspect(t.Context(), session.Server); err != nil || found.Server != session.Server {
		t.Errorf("the server did not survive: %+v, %v", found, err)
	}
}
