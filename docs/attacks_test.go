package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// namedTest matches a test that security.md names: a Go function, or a file of a script or of the page's tests.
var namedTest = regexp.MustCompile("`(Test[A-Z]\\w+|[\\w.]+\\.(?:txtar|spec\\.ts|test\\.tsx))`")

func TestEveryTestOfAnAttackExists(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("security.md")
	if err != nil {
		t.Fatal(err)
	}
	missing := map[string]bool{}
	for _, m := range namedTest.FindAllStringSubmatch(string(text), -1) {
		missing[m[1]] = true
	}
	if len(missing) < 30 {
		t.Errorf("only %d tests are named", len(missing))
	}
	err = filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		switch name := d.Name(); {
		case err != nil:
			return err
		case d.IsDir() && (name == "node_modules" || name != ".." && strings.HasPrefix(name, ".")):
			return fs.SkipDir
		case strings.HasSuffix(name, "_test.go"):
			return found(path, missing)
		default:
			delete(missing, name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name := range missing {
		t.Errorf("security.md names %s, which there is not", name)
	}
}

// testFunc matches the beginning of a test function.
var testFunc = regexp.MustCompile(`(?m)^func (Test\w+)\(`)

// found deletes the tests of a file from missing.
func found(path string, missing map[string]bool) error {
	text, err := os.ReadFile(path)
	for _, m := range testFunc.FindAllSubmatch(text, -1) {
		delete(missing, string(m[1]))
	}
	return err
}
