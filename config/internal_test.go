package config

import (
	"io/fs"
	"strings"
	"syscall"
	"testing"
)

// A directory that root cannot write to requires a mount, so the translation of the errors is tested alone.
func TestErrorsOfTheDataDirSayWhatIsWrong(t *testing.T) {
	t.Parallel()
	for want, cause := range map[string]error{
		"read-only":       syscall.EROFS,
		"may not write":   syscall.EACCES,
		"not a directory": syscall.ENOTDIR,
		"no space left":   syscall.ENOSPC,
	} {
		err := dirError("/d/svc", &fs.PathError{Op: "mkdir", Path: "/d", Err: cause})
		if !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "/d/svc") {
			t.Errorf("%v gives %q, want it to say %q", cause, err, want)
		}
	}
}

func TestEverySettingIsDocumented(t *testing.T) {
	t.Parallel()
	for _, s := range settings() {
		if s.doc == "" || s.def == "" && s.shown == "" {
			t.Errorf("%s has no doc or no default to show", s.name())
		}
	}
}

// Lines are only needed for sections and their keys. Storing every prefix of a long dotted key would take
// memory in the square of its length.
func TestDeepKeysCostNoMoreThanShallowOnes(t *testing.T) {
	t.Parallel()
	deep := "x" + strings.Repeat(".x", 30000)
	for _, doc := range []string{deep + " = 1\n", "[" + deep + "]\n", "[x]\n" + deep + " = 1\n", "x = { " + deep + " = 1 }\n"} {
		lines := keyLines([]byte(doc))
		if len(lines) != 2 {
			t.Errorf("%d lines are kept for %.20q…, want those of x and x.x", len(lines), doc)
		}
		if _, _, problems := parseFile("c.toml", []byte(doc)); len(problems) != 1 || problems[0].Origin.Line != 1 {
			t.Errorf("%.20q… gives %d problems, want one on line 1", doc, len(problems))
		}
	}
}
