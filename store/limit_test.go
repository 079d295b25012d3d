package store

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// If a LIMIT is a plain parameter, SQLite plans the statement for its value and prepares it again for each value. That
// doubles the cost of a short query.
func TestNoLimitIsABareParameter(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	bare := regexp.MustCompile(`LIMIT \$[0-9%]`)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if found := bare.Find(text); found != nil && file != "limit_test.go" {
			t.Errorf("%s: %q; write LIMIT CAST($n AS BIGINT)", file, found)
		}
	}
}
