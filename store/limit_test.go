package store

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// SQLite plans a statement for the value of its LIMIT, and prepares it anew for each value, when the limit is
// a bare parameter: twice the cost of a short query.
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
