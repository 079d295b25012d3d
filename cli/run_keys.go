package cli

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"svc/api"
	"svc/wire"
)

func (a *app) runKeys() *cobra.Command {
	return a.asking(&cobra.Command{
		Use: "keys RUN KEY…", Short: "Type into a run's session", Args: takes("RUN", "KEY…"), ValidArgsFunction: a.completes(runNames),
		Long: "Type into a run's session. A KEY is a word of letters and digits, or Enter, or a name: " + strings.Join(wire.NamedKeys, ", ") + ",\n" +
			"Ctrl+C or Ctrl+ with another letter. text:… types the text after it unchanged, also the name of a key.\n" +
			"For anything else there is svc attach.",
		Example: "  svc run keys 1a2b3c4d yes Enter\n  svc run keys CHECKOUT-12 Escape Up Enter\n  svc run keys CHECKOUT-12 'text:two words' Enter",
		RunE: a.calls(func(ctx context.Context, c *api.Client, args []string) error {
			for _, key := range args[1:] {
				if err := checkKey(key); err != nil {
					return err
				}
			}
			r, err := a.theRun(ctx, c, args[0])
			if err != nil {
				return err
			}
			return c.SendKeys(ctx, r.ID, args[1:])
		}),
	})
}

// keyNames are the names of keys that svc accepts.
var keyNames = append([]string{"Enter"}, wire.NamedKeys...)

// otherKeys matches names of keys, and other spellings, that svc does not accept. They consist of letters and digits,
// so a worker would type them as words.
var otherKeys = regexp.MustCompile(`(?i)^(esc|return|del|delete|ins|insert|home|end|page(up|down)|pg(up|dn)|bspace|f[0-9]{1,2}|arrow(up|down|left|right)|btab)$`)

// severalKeys matches several names of keys without a space between them.
var severalKeys = regexp.MustCompile(`^(?:` + strings.Join(keyNames, "|") + `){2,}$`)

// checkKey returns an error for a word that is probably meant as a key but would be typed as letters.
func checkKey(key string) error {
	typed := "to type the word itself: text:" + key
	like := slices.IndexFunc(keyNames, func(name string) bool { return strings.EqualFold(name, key) && name != key })
	switch {
	case severalKeys.MatchString(key):
		return usage(typed, "there is no key %q; write each key as a word of its own", key)
	case like >= 0:
		return usage(typed, "there is no key %q; did you mean %s?", key, keyNames[like])
	case otherKeys.MatchString(key):
		return usage(typed, "there is no key %q; the keys are %s, and Ctrl+ with a letter", key, strings.Join(keyNames, ", "))
	case strings.HasPrefix(key, "Ctrl+") && wire.CtrlKey(key) == 0:
		return usage("svc attach types anything", "there is no key %q; Ctrl+ takes one letter", key)
	case strings.HasPrefix(key, wire.KeyText), wire.CtrlKey(key) != 0, slices.Contains(keyNames, key), word.MatchString(key):
		return nil
	}
	return usage(fmt.Sprintf("text:%s types it as it is", key), "%q is neither a key nor a word of letters and digits", key)
}

var word = regexp.MustCompile(`^[0-9A-Za-z]+$`)
