package svc_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestMakeFuzzKnowsEveryTarget: a target that the script does not find is never fuzzed, and no error shows it.
func TestMakeFuzzKnowsEveryTarget(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), "scripts/fuzz", "list").Output()
	if err != nil {
		t.Fatal(err)
	}
	listed := strings.Split(strings.TrimSpace(string(out)), "\n")
	written := fuzzTargets(t, os.DirFS("."))
	slices.Sort(listed)
	slices.Sort(written)
	if !slices.Equal(listed, written) {
		t.Errorf("scripts/fuzz knows\n%s\nthe tree has\n%s", strings.Join(listed, "\n"), strings.Join(written, "\n"))
	}
}

// fuzzTargets returns the fuzz targets in the module's tests, as "./package Name"; bench is a separate module.
func fuzzTargets(t *testing.T, tree fs.FS) (targets []string) {
	t.Helper()
	declared := regexp.MustCompile(`(?m)^func (Fuzz\w*)\(`)
	err := fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != "." && (strings.HasPrefix(entry.Name(), ".") || slices.Contains([]string{"bench", "node_modules", "testdata"}, entry.Name())):
			return fs.SkipDir
		case !strings.HasSuffix(name, "_test.go"):
			return nil
		}
		source, err := fs.ReadFile(tree, name)
		for _, found := range declared.FindAllSubmatch(source, -1) {
			folder := "."
			if dir := path.Dir(name); dir != "." {
				folder += "/" + dir
			}
			targets = append(targets, folder+" "+string(found[1]))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return targets
}
