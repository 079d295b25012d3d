package server

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

func TestTheDocumentNamesEveryOperationAndEveryCode(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("../docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	g := newRig(t)
	for path, item := range g.OpenAPI().Paths {
		for _, op := range operations(item) {
			if row := fmt.Sprintf("| `%s %s` |", op.Method, path); !strings.Contains(text, row) {
				t.Errorf("no row %s", row)
			}
		}
	}
	for code, status := range statuses {
		found := false
		for line := range strings.SplitSeq(text, "\n") {
			found = found || strings.HasPrefix(line, fmt.Sprintf("| %d |", status)) && strings.Contains(line, "`"+string(code)+"`")
		}
		if !found {
			t.Errorf("code %s is not in the row of %d", code, status)
		}
	}
}
