package config

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
)

// Sources are the sources of settings that Load reads. OS returns those of the process.
type Sources struct {
	// Flags are the settings given on the command line, by setting ("server.port"). It must contain only flags
	// that were given: an entry has precedence even if its value is empty.
	Flags map[string]Flag

	// DataDir and ConfigFile are the values of the corresponding flags; empty when not given.
	DataDir    string
	ConfigFile string

	// Env returns the value of a variable, like os.Getenv: an empty variable counts as not set. Nil means an
	// empty environment.
	Env func(string) string

	// Hostname returns the machine's name, like os.Hostname. Nil means a machine without a name.
	Hostname func() (string, error)

	// GOOS selects the default data directory of a platform; empty means this platform.
	GOOS string
}

// Flag is a setting's value from the command line.
type Flag struct {
	Name  string // with its dashes, for messages
	Value string // lists are separated by commas
}

// OS returns the sources of this process, without flags.
func OS() Sources {
	return Sources{Env: os.Getenv, Hostname: os.Hostname, GOOS: runtime.GOOS}
}

func (s Sources) env(name string) string {
	if s.Env == nil || name == "" {
		return ""
	}
	return s.Env(name)
}

// Load finds the data directory and the config file and determines every setting. It writes nothing. If
// settings are wrong, the error is a Problems with all of them.
func Load(src Sources) (*Config, error) {
	dir, err := src.dataDir()
	if err != nil {
		return nil, err
	}
	c := &Config{DataDir: dir, origins: map[string]Origin{}}
	c.platform, _ = src.platformDir() // empty without a home
	data, err := c.readFile(src)
	if err != nil {
		return nil, err
	}
	found, sinks, problems := parseFile(c.File, data)
	if found == nil {
		// Without the file's values the other sources cannot be checked.
		return nil, problems
	}
	c.Notify = sinks
	for _, s := range settings() {
		if p := c.set(src, s, found); p != nil {
			problems = append(problems, *p)
		}
	}
	problems = append(problems, unknownFlags(src.Flags)...)
	problems = append(problems, c.problems(wrongSettings(problems))...)
	if len(problems) > 0 {
		return nil, inOrder(problems)
	}
	return c, nil
}

// Validate checks a Config that was changed after Load, for example by a test. The error is a Problems.
func (c *Config) Validate() error { return c.problems(nil).orNil() }

// readFile sets File and reads that file. A missing file is an error, except at the default path.
func (c *Config) readFile(src Sources) ([]byte, error) {
	path, why := src.ConfigFile, ""
	if path == "" {
		if path = src.env("SVC_CONFIG"); path != "" {
			why = " (from SVC_CONFIG)"
		}
	}
	chosen := path != ""
	if !chosen {
		path = filepath.Join(c.DataDir, "config.toml")
	}
	data, err := readFile(path)
	if !chosen && errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read config file%s: %w", why, err)
	}
	c.File = path
	return data, nil
}

// set chooses the value of one setting by precedence, decodes it and stores it with its origin.
func (c *Config) set(src Sources, s setting, found map[string]given) *Problem {
	raw, origin := c.choose(src, s, found)
	c.origins[s.name()] = origin
	decode := decodeValue
	if origin.Place != FromFile {
		decode = func(s setting, raw any) (any, error) { return decodeText(s, raw.(string)) }
	}
	value, err := decode(s, raw)
	if err == nil && raw == "" && origin.Place != FromDefault && mustNotBeEmpty(s.name()) {
		err = errors.New("is empty")
	}
	if err != nil {
		return &Problem{Setting: s.name(), Value: shownValue(s, raw), Origin: origin, Complaint: err.Error()}
	}
	s.field(c).Set(reflect.ValueOf(tidy(s, value, src.env("HOME"))).Convert(s.typ))
	return nil
}

// choose returns the value of a setting by precedence: flag, file, environment, default.
func (c *Config) choose(src Sources, s setting, found map[string]given) (any, Origin) {
	if f, ok := src.Flags[s.name()]; ok {
		return f.Value, Origin{Place: FromFlag, Name: f.Name}
	}
	if g, ok := found[s.name()]; ok {
		return g.raw, Origin{Place: FromFile, Name: c.File, Line: g.line}
	}
	if v := src.env(s.env); v != "" {
		return v, Origin{Place: FromEnv, Name: s.env}
	}
	return c.defaultOf(src, s), Origin{Place: FromDefault}
}

func (c *Config) defaultOf(src Sources, s setting) string {
	host := ""
	if src.Hostname != nil {
		host, _ = src.Hostname() // after an error the name is empty, as documented
	}
	return strings.NewReplacer("<data dir>", c.DataDir, "<host name>", host).Replace(s.def)
}

// problems checks every setting that is not already known to be wrong.
func (c *Config) problems(wrong map[string]bool) Problems {
	var ps Problems
	for _, s := range settings() {
		if wrong[s.name()] {
			continue
		}
		if err := c.check(s.name()); err != nil {
			value := shownValue(s, s.field(c).Interface())
			ps = append(ps, Problem{Setting: s.name(), Value: value, Origin: c.origins[s.name()], Complaint: err.Error()})
		}
	}
	return ps
}

// inOrder sorts the problems of the file first, by line.
func inOrder(ps Problems) Problems {
	slices.SortStableFunc(ps, func(a, b Problem) int {
		if fileA, fileB := a.Origin.Line > 0, b.Origin.Line > 0; fileA != fileB {
			return cmp.Compare(b.Origin.Line, a.Origin.Line)
		}
		return cmp.Compare(a.Origin.Line, b.Origin.Line)
	})
	return ps
}

func wrongSettings(ps Problems) map[string]bool {
	wrong := map[string]bool{}
	for _, p := range ps {
		wrong[p.Setting] = true
	}
	return wrong
}

// unknownFlags finds flags for unknown settings, which are bugs of the program and not errors of its user.
func unknownFlags(flags map[string]Flag) Problems {
	known := map[string]bool{}
	for _, s := range settings() {
		known[s.name()] = true
	}
	var ps Problems
	for name, f := range flags {
		if !known[name] {
			ps = append(ps, Problem{Setting: name, Value: display(f.Value), Origin: Origin{Place: FromFlag, Name: f.Name}, Complaint: "is for a setting that does not exist"})
		}
	}
	return ps
}

// shownValue returns a value for messages; empty for secrets and for URLs that contain a password.
func shownValue(s setting, raw any) string {
	if text, ok := raw.(string); s.secret() || ok && strings.Contains(text, "@") {
		return ""
	}
	return display(raw)
}
