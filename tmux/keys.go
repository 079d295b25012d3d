package tmux

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// Keys for SendKeys that are no text.
const (
	Enter  = "\r"
	CtrlC  = "\x03"
	Escape = "\x1b"
)

// keysPerCall keeps a call below the 16 KiB that tmux takes: three bytes for each byte typed.
const keysPerCall = 4096

// SendKeys types bytes into the pane, exactly as given: no byte has a meaning to tmux, not even
// those of an escape sequence or of broken UTF-8. A program whose terminal is in its usual mode
// sees CtrlC as an interrupt. ErrPaneDead means that nothing was typed, or no more than a part.
func (s Server) SendKeys(ctx context.Context, pane string, keys ...string) error {
	text := strings.Join(keys, "")
	for len(text) > 0 {
		part := text[:min(len(text), keysPerCall)]
		text = text[len(part):]
		command := []string{"send-keys", "-t", pane, "-H"}
		for i := range len(part) {
			command = append(command, fmt.Sprintf("%02x", part[i]))
		}
		if err := s.input(ctx, call{}, pane, command); err != nil {
			return fmt.Errorf("send keys: %w", err)
		}
	}
	return nil
}

// Key is a key whose bytes depend on the mode in which the program put its terminal.
type Key string

// The keys for PressKeys.
const (
	Up    Key = "Up"
	Down  Key = "Down"
	Left  Key = "Left"
	Right Key = "Right"
)

// keyNamesPerCall keeps a call below the 16 KiB that tmux takes.
const keyNamesPerCall = 1024

// PressKeys presses keys, as the program's terminal spells them at that moment. ErrPaneDead is as for SendKeys.
func (s Server) PressKeys(ctx context.Context, pane string, keys ...Key) error {
	for part := range slices.Chunk(keys, keyNamesPerCall) {
		command := []string{"send-keys", "-t", pane}
		for _, k := range part {
			if !slices.Contains([]Key{Up, Down, Left, Right}, k) {
				return fmt.Errorf("press keys: there is no key %q", k)
			}
			command = append(command, string(k))
		}
		if err := s.input(ctx, call{}, pane, command); err != nil {
			return fmt.Errorf("press keys: %w", err)
		}
	}
	return nil
}

// pasteBuffer is the tmux buffer that Paste uses for a moment.
const pasteBuffer = "paste"

// Paste gives text to the program as a terminal does when a person pastes: bracketed when the
// program asked for that, with line ends as carriage returns. Control characters other than tab
// and newline are left out, so that no text can end the bracket or press a key. Pressing Enter
// afterwards is a step of its own.
func (s Server) Paste(ctx context.Context, pane, text string) error {
	text = pasteable(text)
	if text == "" {
		return nil
	}
	err := s.input(ctx, call{stdin: []byte(text)}, pane,
		[]string{"load-buffer", "-b", pasteBuffer, "-"},
		// paste-buffer into a dead pane crashes tmux 3.3a.
		[]string{"if-shell", "-F", "-t", pane, "#{pane_dead}",
			"delete-buffer -b " + pasteBuffer,
			"paste-buffer -p -d -b " + pasteBuffer + " -t " + pane})
	if err != nil {
		return fmt.Errorf("paste: %w", err)
	}
	return nil
}

// input runs commands that write to a pane, after leaving a mode of tmux (where they would be lost)
// and together with the question whether anybody reads.
func (s Server) input(ctx context.Context, c call, pane string, commands ...[]string) error {
	if err := checkPane(pane); err != nil {
		return err
	}
	commands = append([][]string{{"copy-mode", "-q", "-t", pane}}, commands...)
	commands = append(commands, []string{"display-message", "-p", "-t", pane, "#{pane_dead}"})
	out, err := s.send(ctx, c, commands...)
	if err != nil {
		return err
	}
	if strings.TrimSpace(string(out)) != "0" {
		return ErrPaneDead
	}
	return nil
}

func pasteable(text string) string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\r':
			return '\n'
		case r != '\t' && r != '\n' && unicode.IsControl(r):
			return -1
		}
		return r
	}, text)
}
