package provider

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"

	"svc/atomicfile"
)

// defaults is the catalog as it is shipped, with comments for its reader.
//
//go:embed providers.toml
var defaults []byte

// Defaults returns the shipped catalog.
func Defaults() *Catalog {
	c, err := Parse("the shipped providers.toml", defaults)
	if err != nil {
		panic(err) // the tests parse it
	}
	return c
}

// EnsureFile writes the shipped catalog and the missing directories above it, if nothing exists at path. It
// reports whether it has written it. An existing file is never changed.
func EnsureFile(path string) (made bool, err error) {
	if _, err := os.Lstat(path); err == nil {
		return false, nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return false, fmt.Errorf("write the first provider catalog: %w", err)
	}
	made, err = atomicfile.Create(path, defaults, 0o600)
	if err != nil {
		return false, fmt.Errorf("write the first provider catalog: %w", err)
	}
	return made, nil
}
