package safetext

import (
	"bytes"
	"strings"
)

// isColour reports whether a sequence only sets colours and attributes (SGR).
func isColour(seq []byte) bool {
	private, params, final := parts(seq)
	return private == 0 && final == "m" && small(params)
}

// The sequences that only draw, by their final byte.
const (
	drawEscapes = "78=>DEM" // save and restore the cursor, keypad modes, line up and down
	drawCSI     = "@ABCDEFGHIJKLMPSTXZ`abdefmrsu"
)

// charsets are the character sets that contain text or line drawing.
var charsets = []string{"(B", "(0", "(A", ")B", ")0", ")A"}

// modes are the private modes that a terminal program may switch: cursor keys, reverse video, origin, wrapping,
// blinking and visible cursor, margins, mouse and focus reports, alternate screen, bracketed paste, synchronized
// output.
var modes = []string{
	"1", "5", "6", "7", "12", "25", "45", "47", "69", "1000", "1002", "1003", "1004", "1005", "1006", "1007", "1015", "1047", "1048", "1049", "2004", "2026",
}

// draws reports whether a sequence only draws, or only switches what keys and mouse send.
func draws(seq []byte) bool {
	body := seq[1:]
	if body[0] != '[' {
		if len(body) == 1 {
			return strings.IndexByte(drawEscapes, body[0]) >= 0
		}
		return oneOf(charsets, string(body))
	}
	private, params, final := parts(seq)
	if !small(params) {
		return false
	}
	switch {
	case private == '?' && (final == "h" || final == "l"):
		for mode := range strings.SplitSeq(params, ";") {
			if !oneOf(modes, mode) {
				return false
			}
		}
		return true
	case private == '>':
		return final == "m" // modifyOtherKeys
	case private != 0:
		return false
	case final == "h" || final == "l":
		return params == "4" // insert mode
	case final == "T":
		return !strings.Contains(params, ";") // with several parameters it starts mouse highlight tracking
	}
	return final == " q" || len(final) == 1 && strings.Contains(drawCSI, final)
}

// commands reports whether a sequence makes a terminal reply, reset itself, or change its window. Control characters
// inside the sequence are ignored.
func commands(seq []byte) bool {
	seq = bytes.Map(func(r rune) rune {
		if r != ctlEscape && (r < ' ' || r == ctlDelete) {
			return -1
		}
		return r
	}, seq)
	if len(seq) < 3 || seq[1] != '[' {
		return len(seq) == 2 && (seq[1] == 'c' || seq[1] == 'Z' || seq[1] == '\\') // reset, identify, end of a string
	}
	private, params, final := parts(seq)
	switch final[len(final)-1] {
	case 'c', 'n', 't', 'x', 'y':
		return true
	case 'p':
		return len(final) > 1
	case 'q':
		return private == '>'
	case 'u':
		return private == '?'
	}
	return !small(params)
}

// parts splits a CSI sequence into its private marker, its parameters and the rest, which ends with the final byte.
// For any other kind of sequence all parts are empty.
func parts(seq []byte) (private byte, params, final string) {
	body, ok := bytes.CutPrefix(seq, []byte("\x1b["))
	if !ok {
		return 0, "", ""
	}
	if c := body[0]; c >= '<' && c <= '?' {
		private, body = c, body[1:]
	}
	at := bytes.IndexFunc(body, func(r rune) bool { return r < '0' || r > ';' })
	return private, string(body[:at]), string(body[at:])
}

// small reports whether every parameter is below 10,000. A larger one has no use, and keeps some terminals busy for a
// long time.
func small(params string) bool {
	digits := 0
	for _, c := range params {
		if digits++; c == ';' || c == ':' {
			digits = 0
		}
		if digits > 4 {
			return false
		}
	}
	return true
}

func oneOf(words []string, word string) bool {
	for _, w := range words {
		if w == word {
			return true
		}
	}
	return false
}
