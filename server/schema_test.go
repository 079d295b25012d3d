package server

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"svc"
)

// validate returns what is wrong with a value. It supports the part of JSON Schema that the API description uses.
func (c contract) validate(schema, v any, at string) (bad []string) {
	s, ok := schema.(map[string]any)
	if !ok {
		return nil // absent or true: any value
	}
	if ref, ok := s["$ref"].(string); ok {
		return c.validateRef(ref, v, at)
	}
	if options, ok := s["anyOf"].([]any); ok {
		for _, option := range options {
			problems := c.validate(option, v, at)
			if len(problems) == 0 {
				return nil
			}
			bad = append(bad, problems...)
		}
		return bad
	}
	if !hasType(s["type"], v) {
		return []string{fmt.Sprintf("%s: %v is not of type %v", at, v, s["type"])}
	}
	if values, ok := s["enum"].([]any); ok && !slices.ContainsFunc(values, func(x any) bool { return reflect.DeepEqual(x, v) }) {
		return []string{fmt.Sprintf("%s: %v is none of %v", at, v, values)}
	}
	switch v := v.(type) {
	case string:
		if !hasFormat(s["format"], v) {
			bad = append(bad, fmt.Sprintf("%s: %q is no %v", at, v, s["format"]))
		}
	case []any:
		for i, item := range v {
			bad = append(bad, c.validate(s["items"], item, fmt.Sprintf("%s[%d]", at, i))...)
		}
	case map[string]any:
		bad = append(bad, c.validateObject(s, v, at)...)
	}
	return bad
}

func (c contract) validateRef(ref string, v any, at string) []string {
	var target any = map[string]any(c)
	for _, name := range strings.Split(strings.TrimPrefix(ref, "#/"), "/") {
		in, _ := target.(map[string]any)
		target = in[name]
	}
	if target == nil {
		return []string{at + ": " + ref + " is not described"}
	}
	return c.validate(target, v, at)
}

// validateObject is stricter than the description: clients must accept new fields, but the description must contain
// them.
func (c contract) validateObject(s, v map[string]any, at string) (bad []string) {
	fields, _ := s["properties"].(map[string]any)
	required, _ := s["required"].([]any)
	for _, name := range required {
		if _, has := v[fmt.Sprint(name)]; !has {
			bad = append(bad, fmt.Sprintf("%s: %v is missing", at, name))
		}
	}
	for name, value := range v {
		schema, known := fields[name]
		if !known {
			schema = s["additionalProperties"]
			if schema == false || schema == nil && len(fields) > 0 {
				bad = append(bad, fmt.Sprintf("%s: %s is not described", at, name))
				continue
			}
		}
		bad = append(bad, c.validate(schema, value, at+"."+name)...)
	}
	return bad
}

func hasType(want, v any) bool {
	if list, ok := want.([]any); ok {
		return slices.ContainsFunc(list, func(one any) bool { return hasType(one, v) })
	}
	switch v := v.(type) {
	case nil:
		return want == "null" || want == nil
	case string:
		return want == "string" || want == nil
	case bool:
		return want == "boolean" || want == nil
	case float64:
		return want == "number" || want == nil || want == "integer" && v == float64(int64(v))
	case []any:
		return want == "array" || want == nil
	default:
		return want == "object" || want == nil
	}
}

func hasFormat(want any, v string) bool {
	switch want {
	case "uuid":
		return svc.IsID(v)
	case "date-time":
		_, err := time.Parse(time.RFC3339, v)
		return err == nil && strings.HasSuffix(v, "Z")
	default:
		return true
	}
}
