package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// decodeValue converts a value of a file (raw is the TOML decoder's) to the setting's type. The error is a
// complaint that continues a sentence after the value.
func decodeValue(s setting, raw any) (any, error) {
	switch s.typ {
	case reflect.TypeFor[string](), reflect.TypeFor[Secret]():
		if text, ok := raw.(string); ok {
			return text, nil
		}
		return nil, errors.New("is not a string")
	case reflect.TypeFor[bool]():
		if b, ok := raw.(bool); ok {
			return b, nil
		}
		return nil, errors.New("is not true or false")
	case reflect.TypeFor[int](), reflect.TypeFor[int64]():
		n, ok := raw.(int64)
		if !ok || s.typ.OverflowInt(n) {
			return nil, errors.New(notNumber(s))
		}
		return n, nil
	case reflect.TypeFor[time.Duration]():
		return decodeDuration(raw, s.kind == "switchable")
	case reflect.TypeFor[[]string]():
		return decodeStrings(raw)
	case reflect.TypeFor[[2]time.Duration]():
		return decodePair(raw)
	}
	panic("config: no decoder for the type of " + s.name())
}

// decodeText does the same for flags, variables and defaults, which are always text. Lists are separated by
// commas.
func decodeText(s setting, text string) (any, error) {
	switch s.typ {
	case reflect.TypeFor[bool]():
		if text != "true" && text != "false" {
			return nil, errors.New("is not true or false")
		}
		return text == "true", nil
	case reflect.TypeFor[int](), reflect.TypeFor[int64]():
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, errors.New(notNumber(s))
		}
		return decodeValue(s, n)
	case reflect.TypeFor[[]string](), reflect.TypeFor[[2]time.Duration]():
		return decodeValue(s, splitList(text))
	}
	return decodeValue(s, text)
}

func notNumber(s setting) string {
	if s.key == "port" {
		return notPort
	}
	return "is not a whole number"
}

func splitList(text string) []any {
	list := []any{}
	if text == "" {
		return list
	}
	for part := range strings.SplitSeq(text, ",") {
		list = append(list, strings.TrimSpace(part))
	}
	return list
}

func decodeDuration(raw any, switchable bool) (time.Duration, error) {
	text, ok := raw.(string)
	if ok && switchable && text == "off" {
		return 0, nil
	}
	hint := `"90s", "5m" or "1h30m"`
	if switchable {
		hint += `, or "off"`
	}
	d, err := time.ParseDuration(text)
	if !ok || err != nil {
		return 0, errors.New("is not a duration such as " + hint)
	}
	if d <= 0 {
		return 0, errors.New("is not longer than zero; write a duration such as " + hint)
	}
	return d, nil
}

func decodeStrings(raw any) ([]string, error) {
	list, ok := raw.([]any)
	if !ok {
		return nil, errors.New("is not a list of strings")
	}
	var out []string
	for _, e := range list {
		text, ok := e.(string)
		if !ok {
			return nil, errors.New("is not a list of strings")
		}
		out = append(out, text)
	}
	return out, nil
}

func decodePair(raw any) (pair [2]time.Duration, err error) {
	list, ok := raw.([]any)
	if !ok || len(list) != len(pair) {
		return pair, errors.New(`is not a list of two durations such as ["5s", "10s"]`)
	}
	for i, e := range list {
		if pair[i], err = decodeDuration(e, false); err != nil {
			return pair, fmt.Errorf("is not a list of two durations: %s %w", display(e), err)
		}
	}
	return pair, nil
}

// tidy normalizes a decoded value: it expands ~/ in paths, which no shell has done, removes the slash at the
// end of URLs, and writes origins as browsers send them.
func tidy(s setting, value any, home string) any {
	switch v := value.(type) {
	case string:
		if rest, ok := strings.CutPrefix(v, "~/"); ok && s.kind == "path" && home != "" {
			return filepath.Join(home, rest)
		}
		if bare := strings.TrimRight(v, "/"); bare != "" && strings.HasSuffix(s.key, "url") {
			return bare
		}
	case []string:
		if s.key == "allowed_origins" {
			return tidyOrigins(v)
		}
	}
	return value
}

// tidyOrigins converts to lower case and removes the scheme's default port.
func tidyOrigins(origins []string) []string {
	var tidied []string
	for _, o := range origins {
		o = strings.ToLower(o)
		switch {
		case strings.HasPrefix(o, "http://"):
			o = strings.TrimSuffix(o, ":80")
		case strings.HasPrefix(o, "https://"):
			o = strings.TrimSuffix(o, ":443")
		}
		tidied = append(tidied, o)
	}
	return tidied
}

// display returns a value for a message, on one line and of limited length.
func display(raw any) string {
	const most = 80
	var text string
	switch v := raw.(type) {
	case string:
		text = strconv.Quote(v)
	case []any:
		parts := make([]string, len(v))
		for i, e := range v {
			parts[i] = display(e)
		}
		text = "[" + strings.Join(parts, ", ") + "]"
	case map[string]any:
		text = "a table"
	default:
		text = fmt.Sprint(v)
	}
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most]) + "…"
	}
	return text
}
