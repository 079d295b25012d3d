package review

import (
	"errors"
	"io"
	"strings"
	"testing"
)

// TestAPatchOfAnyNumberOfFilesIsListedWithinBounds reads a patch with a great many files of a few bytes each, as a
// hostile host may relay it.
func TestAPatchOfAnyNumberOfFilesIsListedWithinBounds(t *testing.T) {
	t.Parallel()
	many := strings.Repeat("diff --git a/a b/a\nold mode 100644\nnew mode 100755\n", 200_000)
	long := strings.Repeat("diff --git a/a b/a\nindex "+strings.Repeat("0", 60<<10)+"..1 100644\n", 700)
	for name, text := range map[string]string{"many files": many, "long names": long} {
		p, err := Read(strings.NewReader(text), int64(len(text)))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		held := 0
		for _, f := range p.Files {
			held += f.listed()
		}
		if !p.More || held > mostListed {
			t.Errorf("%s: %d files of %d bytes, more %v", name, len(p.Files), held, p.More)
		}
		if _, _, err := Between(p, p, io.Discard); !errors.Is(err, ErrTooLarge) {
			t.Errorf("%s: compared with itself: %v", name, err)
		}
	}
}
