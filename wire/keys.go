package wire

import (
	"slices"
	"strings"
)

// NamedKeys are the keys by name that need the capability keys2; without it such a word is text.
var NamedKeys = []string{"Escape", "Up", "Down", "Left", "Right", "Tab", "Space", "Backspace"}

// KeyText begins an element of keys whose rest is typed as it is (capability keys2).
const KeyText = "text:"

// CtrlKey is the letter of an element such as Ctrl+R, in capitals; 0: it is none. Ctrl+C, spelled like this, needs no
// capability; any other does, keys2.
func CtrlKey(key string) byte {
	letter, ok := strings.CutPrefix(key, "Ctrl+")
	if !ok || len(letter) != 1 {
		return 0
	}
	c := letter[0] &^ 0x20
	if c < 'A' || c > 'Z' {
		return 0
	}
	return c
}

// IsNamedKey reports whether an element names a key that a worker without the capability keys2 would type as
// text. Such a worker refuses the other elements of keys2 by itself.
func IsNamedKey(key string) bool { return slices.Contains(NamedKeys, key) }
