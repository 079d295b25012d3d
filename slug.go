package svc

import (
	"fmt"
	"strings"

	"golang.org/x/text/unicode/norm"
)

const maxSlug = 64

// transliterations replaces letters that Unicode decomposition does not reduce to ASCII.
var transliterations = strings.NewReplacer(
	"ß", "ss", "æ", "ae", "œ", "oe", "ø", "o", "đ", "d", "ð", "d", "þ", "th", "ł", "l", "ı", "i", "ħ", "h", "ŋ", "n",
	"а", "a", "б", "b", "в", "v", "г", "g", "ґ", "g", "д", "d", "е", "e", "ё", "yo", "є", "ye", "ж", "zh", "з", "z",
	"и", "i", "і", "i", "ї", "yi", "й", "y", "к", "k", "л", "l", "м", "m", "н", "n", "о", "o", "п", "p", "р", "r",
	"с", "s", "т", "t", "у", "u", "ф", "f", "х", "kh", "ц", "ts", "ч", "ch", "ш", "sh", "щ", "shch", "ъ", "", "ы", "y",
	"ь", "", "э", "e", "ю", "yu", "я", "ya",
	"α", "a", "β", "b", "γ", "g", "δ", "d", "ε", "e", "ζ", "z", "η", "i", "θ", "th", "ι", "i", "κ", "k", "λ", "l",
	"μ", "m", "ν", "n", "ξ", "x", "ο", "o", "π", "p", "ρ", "r", "σ", "s", "ς", "s", "τ", "t", "υ", "y", "φ", "f",
	"χ", "ch", "ψ", "ps", "ω", "o",
)

// Slug transliterates a name into [a-z0-9-]{1,64}. It returns "project" when no character can be transliterated.
func Slug(name string) string { return slugOr(name, "project") }

// slugOr is Slug with another result for a name without characters that can be transliterated.
func slugOr(name, empty string) string {
	// Replace before and after the decomposition: a decomposed й would lose its breve before it is replaced.
	plain := transliterations.Replace(norm.NFKD.String(transliterations.Replace(strings.ToLower(norm.NFKC.String(name)))))
	var b strings.Builder
	gap := false
	for _, r := range plain {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			if gap && b.Len() > 0 {
				b.WriteByte('-')
			}
			gap = false
			b.WriteRune(r)
		case r >= 0x300 && r <= 0x36f: // an accent that the decomposition separated from its letter
		case r == '\'' || r == '’':
		default:
			gap = true
		}
	}
	s := strings.Trim(cut(b.String(), maxSlug), "-")
	if s == "" {
		return empty
	}
	return s
}

// SlugAgain returns the n-th alternative for a slug that is taken: slug-2, slug-3, ….
func SlugAgain(slug string, n int) string {
	suffix := fmt.Sprintf("-%d", n)
	return strings.TrimRight(cut(slug, maxSlug-len(suffix)), "-") + suffix
}

func cut(s string, max int) string {
	if len(s) > max {
		return s[:max]
	}
	return s
}
