package wire

import (
	"slices"
	"strings"
)

// NamedKeys are the named keys of the capability keys2. A worker without it types such a word as text.
var NamedKeys = []string{"Escape", "Up", "Down", "Left", "Right", "Tab", "Space", "Backspace"}

// KeyText is the prefix of an element whose rest is typed literally (capability keys2).
const KeyText = "text:"

// CtrlKey returns the letter of an element such as Ctrl+R as a capital; 0: the element has another form. Ctrl+C, in
// exactly this form, needs no capability; all others need keys2.
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

// IsNamedKey reports whether an element names a key that a worker without the capability keys2 would type as text.
// Such a worker itself refuses the other elements of keys2.
func IsNamedKey(key string) bool { return slices.Contains(NamedKeys, key) }
