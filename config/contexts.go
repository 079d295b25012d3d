package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// Context is one orchestrator that the command line has signed in to.
type Context struct {
	Server string `toml:"server"`
	Token  Secret `toml:"token"`
}

// Contexts are the orchestrators that this user has signed in to, by name.
type Contexts struct {
	Current string             `toml:"current"` // used when none is named
	Named   map[string]Context `toml:"contexts"`

	path string
}

// contextsFile is the name of the file beside config.toml.
const contextsFile = "contexts.toml"

// ReadContexts reads the file that [Contexts.Save] writes. Without the file there are no contexts.
func ReadContexts(dir string) (*Contexts, error) {
	c := &Contexts{path: filepath.Join(dir, contextsFile), Named: map[string]Context{}}
	text, err := os.ReadFile(c.path)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the contexts: %w", err)
	}
	if err := toml.Unmarshal(text, c); err != nil {
		return nil, fmt.Errorf("%s: %w; remove the file and sign in again", c.path, err)
	}
	return c, nil
}

// Save writes the contexts into a file that only its owner can read.
func (c *Contexts) Save() error {
	// Encoders write a placeholder for a Secret, so the values are converted to strings here.
	type plain struct {
		Server string `toml:"server"`
		Token  string `toml:"token"`
	}
	out := struct {
		Current string           `toml:"current"`
		Named   map[string]plain `toml:"contexts"`
	}{c.Current, map[string]plain{}}
	for name, k := range c.Named {
		out.Named[name] = plain{k.Server, string(k.Token)}
	}
	text, err := toml.Marshal(out)
	if err != nil {
		return fmt.Errorf("encode the contexts: %w", err)
	}
	if _, err := EnsureDataDir(filepath.Dir(c.path)); err != nil {
		return err
	}
	return replaceSecret(c.path, strings.TrimRight(string(text), "\n"))
}
