package config

import (
	"reflect"
	"strings"
)

// A setting is one key of the config file, as the tags of Config describe it.
type setting struct {
	section string // empty at the top level
	key     string
	env     string // empty when no variable sets it
	def     string // the default as text; empty means the zero value
	shown   string // the default as the reference prints it
	kind    string // what the type does not say: "path", "secret", "switchable" or nothing
	doc     string
	typ     reflect.Type
	index   []int
}

// name is how people and Sources.Flags call the setting.
func (s setting) name() string {
	if s.section == "" {
		return s.key
	}
	return s.section + "." + s.key
}

// secret reports whether the value must not appear in messages.
func (s setting) secret() bool { return s.kind == "secret" }

// field is the setting's place in c.
func (s setting) field(c *Config) reflect.Value {
	return reflect.ValueOf(c).Elem().FieldByIndex(s.index)
}

// A section is a table of the config file, in the order of the reference. The first has no
// name: it is the top level.
type section struct {
	name     string
	doc      string
	settings []setting
}

// sections reads the tags of Config.
func sections() []section {
	top := section{}
	var rest []section
	for _, f := range reflect.VisibleFields(reflect.TypeFor[Config]()) {
		key := f.Tag.Get("toml")
		switch {
		case key == "" || key == "-":
		case f.Type.Kind() == reflect.Struct:
			rest = append(rest, subsection(key, f))
		default:
			top.settings = append(top.settings, newSetting("", f, f.Index))
		}
	}
	return append([]section{top}, rest...)
}

func subsection(name string, field reflect.StructField) section {
	s := section{name: name, doc: field.Tag.Get("doc")}
	for f := range field.Type.Fields() {
		s.settings = append(s.settings, newSetting(name, f, append(field.Index[:1:1], f.Index...)))
	}
	return s
}

func newSetting(section string, f reflect.StructField, index []int) setting {
	return setting{
		section: section,
		key:     f.Tag.Get("toml"),
		env:     f.Tag.Get("env"),
		def:     f.Tag.Get("default"),
		shown:   f.Tag.Get("shown"),
		kind:    f.Tag.Get("kind"),
		doc:     f.Tag.Get("doc"),
		typ:     f.Type,
		index:   index,
	}
}

// settings is every setting in the order of the reference.
func settings() []setting {
	var all []setting
	for _, s := range sections() {
		all = append(all, s.settings...)
	}
	return all
}

// keys lists what a section knows, for messages.
func (s section) keys() string {
	names := make([]string, len(s.settings))
	for i, set := range s.settings {
		names[i] = set.key
	}
	return strings.Join(names, ", ")
}
