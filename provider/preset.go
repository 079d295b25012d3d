package provider

import (
	"bytes"
	"embed"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"svc"
	"svc/atomicfile"
)

//go:embed presets/*.toml
var presetFiles embed.FS

// PresetNames returns the names of the tools that have a preset.
func PresetNames() []string {
	files, err := presetFiles.ReadDir("presets")
	if err != nil {
		panic(err) // it is embedded
	}
	names := make([]string, len(files))
	for i, f := range files {
		names[i] = strings.TrimSuffix(f.Name(), ".toml")
	}
	return names
}

// Preset returns the entries of a tool: first the one that processes a prompt and ends, then the interactive
// one, whose id ends in -tui.
func Preset(name string) ([]Entry, error) {
	_, c, err := preset(name)
	if err != nil {
		return nil, err
	}
	return c.Entries(), nil
}

func preset(name string) (text []byte, c *Catalog, err error) {
	if !slices.Contains(PresetNames(), name) {
		return nil, nil, svc.Errorf(svc.CodeNotFound, "no preset %q; there are %s", name, strings.Join(PresetNames(), ", "))
	}
	file := path.Join("presets", name+".toml")
	text, err = presetFiles.ReadFile(file)
	if err != nil {
		return nil, nil, fmt.Errorf("read preset %s: %w", name, err)
	}
	c, err = Parse(file, text)
	return text, c, err
}

// Unused returns the presets whose tool is found in pathEnv, a list in the form of PATH, and which a catalog
// does not use: no entry has the preset's id or its program.
func Unused(c *Catalog, pathEnv string) []string {
	return slices.DeleteFunc(PresetNames(), func(name string) bool {
		used := func(e Entry) bool { return e.ID == name || filepath.Base(e.Bin) == name }
		_, err := (Entry{ID: name, Bin: name}).Find(pathEnv)
		return err != nil || slices.ContainsFunc(c.Entries(), used)
	})
}

// Add appends the entries of a preset to a catalog file and returns their ids. The rest of the file stays
// unchanged, including comments; a missing file is created with the shipped catalog. Add writes no entry if one
// of the ids exists already or the file is invalid.
func Add(file, name string) (ids []string, err error) {
	text, more, err := preset(name)
	if err != nil {
		return nil, err
	}
	if _, err := EnsureFile(file); err != nil {
		return nil, err
	}
	// If file is a link, its target is replaced and the link stays.
	file, err = filepath.EvalSymlinks(file)
	if err != nil {
		return nil, fmt.Errorf("find provider catalog: %w", err)
	}
	err = locked(filepath.Dir(file), func() error { return appendEntries(file, text, more) })
	if err != nil {
		return nil, err
	}
	return more.IDs(), nil
}

func appendEntries(file string, text []byte, more *Catalog) error {
	data, err := readFile(file)
	if err != nil {
		return err
	}
	have, err := Parse(file, data)
	if err != nil {
		return err
	}
	for _, id := range more.ids {
		if have.Has(id) {
			return svc.Errorf(svc.CodeConflict, "%s already has [providers.%s]; nothing was changed", file, id)
		}
	}
	whole := slices.Concat(bytes.TrimRight(data, "\n"), []byte("\n\n"), text)
	if _, err := Parse(file, whole); err != nil {
		return fmt.Errorf("add %s: %w", strings.Join(more.ids, ", "), err)
	}
	info, err := os.Stat(file)
	if err != nil {
		return fmt.Errorf("read mode of provider catalog: %w", err)
	}
	if err := atomicfile.Replace(file, whole, info.Mode().Perm()); err != nil {
		return fmt.Errorf("write provider catalog: %w", err)
	}
	return nil
}
