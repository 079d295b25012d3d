package config

import (
	"reflect"
	"strings"
)

// setting is one key of the config file, as the tags of Config describe it.
type setting struct {
	section string // empty at the top level
	key     string
	env     string // empty: no variable sets it
	def     string // the default as text; empty means the zero value
	shown   string // the default as the reference prints it
	kind    string // more than the type: "path", "secret", "switchable" or empty
	doc     string
	typ     reflect.Type
	index   []int
}

// name returns the setting's name in messages and in Sources.Flags.
func (s setting) name() string {
	if s.section == "" {
		return s.key
	}
	return s.section + "." + s.key
}

// secret reports whether the value must not appear in messages.
func (s setting) secret() bool { return s.kind == "secret" }

// field returns the setting's field in c.
func (s setting) field(c *Config) reflect.Value {
	return reflect.ValueOf(c).Elem().FieldByIndex(s.index)
}

// section is a table of the config file. The first section of the reference has no name: it is the top level.
type section struct {
	name     string
	doc      string
	settings []setting
}

// sections returns the sections, read from the tags of Config, in the order of the reference.
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

// settings returns every setting, in the order of the reference.
func settings() []setting {
	var all []setting
	for _, s := range sections() {
		all = append(all, s.settings...)
	}
	return all
}

// keys returns the keys of a section as a list for messages.
func (s section) keys() string {
	names := make([]string, len(s.settings))
	for i, set := range s.settings {
		names[i] = set.key
	}
	return strings.Join(names, ", ")
}
