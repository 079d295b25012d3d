package tmux

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// Keys for SendKeys that are control characters.
const (
	Enter  = "\r"
	CtrlC  = "\x03"
	Escape = "\x1b"
)

// keysPerCall keeps a call below the 16 KiB that tmux accepts: each typed byte takes three bytes.
const keysPerCall = 4096

// SendKeys types bytes into the pane, unchanged: tmux interprets none of them, not even escape sequences or
// broken UTF-8. A program whose terminal is in its default mode gets CtrlC as an interrupt. ErrPaneDead means
// that nothing or only a part was typed.
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

// Key is a key whose bytes depend on the mode of the program's terminal.
type Key string

// The keys for PressKeys.
const (
	Up    Key = "Up"
	Down  Key = "Down"
	Left  Key = "Left"
	Right Key = "Right"
)

// keyNamesPerCall keeps a call below the 16 KiB that tmux accepts.
const keyNamesPerCall = 1024

// PressKeys presses keys, with the bytes of the terminal's current mode. ErrPaneDead as for SendKeys.
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

// pasteBuffer is the tmux buffer that Paste uses temporarily.
const pasteBuffer = "paste"

// Paste sends text to the program like a terminal when a person pastes: bracketed if the program has requested
// that, with carriage returns as line ends. Control characters other than tab and newline are removed, so that
// no text can end the bracket or press a key. Paste does not press Enter.
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

// input runs commands that write to a pane. It first leaves tmux's copy mode, in which the input would be lost,
// and asks in the same call whether the pane is dead.
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
