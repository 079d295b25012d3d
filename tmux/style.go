package tmux

import (
	"strconv"
	"strings"
)

// style is the set of active attributes. The bit of an attribute is the SGR code that turns it off (39 for any
// foreground colour, 27 for reverse).
type style uint64

// after returns the style after the parameters of one SGR sequence were applied.
func (s style) after(params string) style {
	codes := strings.Split(params, ";")
	for i := 0; i < len(codes); i++ {
		text, sub, hasSub := strings.Cut(codes[i], ":")
		code, err := strconv.Atoi(text)
		switch {
		case text != "" && err != nil:
			continue
		case code == 0: // an empty code also means 0
			s = 0
		case code == 4 && sub == "0":
			s &^= 1 << 24
		case turnsOff(code):
			s &^= 1 << code
		default:
			s |= 1 << offCode(code)
			if !hasSub {
				i += colourArguments(code, codes[i+1:])
			}
		}
	}
	return s &^ 1 // bit 0 collects the codes that are ignored
}

// showsBlanks reports whether a blank is visible: by its background, reverse or a line.
func (s style) showsBlanks() bool {
	return s&(1<<49|1<<27|1<<24|1<<29|1<<55) != 0
}

func turnsOff(code int) bool {
	return code >= 22 && code <= 29 && code != 26 || code == 39 || code == 49 || code == 55 || code == 59
}

func offCode(code int) int {
	switch {
	case code >= 30 && code <= 38, code >= 90 && code <= 97:
		return 39
	case code >= 40 && code <= 48, code >= 100 && code <= 107:
		return 49
	}
	return offCodes[code]
}

// offCodes maps the codes that are not colours to the codes that turn them off; codes that are ignored are
// missing.
var offCodes = map[int]int{1: 22, 2: 22, 3: 23, 4: 24, 21: 24, 5: 25, 6: 25, 7: 27, 8: 28, 9: 29, 53: 55, 58: 59}

// colourArguments returns how many codes after 38, 48 or 58 belong to it.
func colourArguments(code int, rest []string) int {
	if code != 38 && code != 48 && code != 58 || len(rest) == 0 {
		return 0
	}
	switch rest[0] {
	case "5":
		return min(2, len(rest))
	case "2":
		return min(4, len(rest))
	}
	return 0
}

// lineDrawing is the alternate character set of terminals (VT100 "special graphics").
var lineDrawing = map[byte]rune{
	'+': '→', ',': '←', '-': '↑', '.': '↓', '0': '█', '`': '◆', 'a': '▒', 'b': '␉', 'c': '␌',
	'd': '␍', 'e': '␊', 'f': '°', 'g': '±', 'h': '␤', 'i': '␋', 'j': '┘', 'k': '┐', 'l': '┌',
	'm': '└', 'n': '┼', 'o': '⎺', 'p': '⎻', 'q': '─', 'r': '⎼', 's': '⎽', 't': '├', 'u': '┤',
	'v': '┴', 'w': '┬', 'x': '│', 'y': '≤', 'z': '≥', '{': 'π', '|': '≠', '}': '£', '~': '·',
}
