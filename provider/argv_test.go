package provider_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"svc/provider"
)

func TestArgvIsRenderedByTheRules(t *testing.T) {
	t.Parallel()
	full := provider.Values{Args: []string{"-v", "two words", ""}, Prompt: "fix it", APIKey: "key", Model: "m1", HooksConfig: "/h"}
	tests := []struct {
		name     string
		template []string
		values   provider.Values
		want     []string
	}{
		{"args become as many as given", []string{"run", "{args}", "end"}, full, []string{"run", "-v", "two words", "", "end"}},
		{"no args are no argument, and take no flag along", []string{"-p", "{args}", "end"}, provider.Values{}, []string{"-p", "end"}},
		{"each placeholder is filled", []string{"{prompt}", "{api_key}", "{model}", "{hooks_config}"}, full, []string{"fix it", "key", "m1", "/h"}},
		{"inside an element", []string{"--model={model}/{api_key}"}, full, []string{"--model=m1/key"}},
		{"twice in an element", []string{"{model}{model}"}, full, []string{"m1m1"}},
		{"a prompt stays one argument", []string{"{prompt}"}, provider.Values{Prompt: "a b\n'c' \"d\" $(e)"}, []string{"a b\n'c' \"d\" $(e)"}},
		{"what a value brings in is not expanded", []string{"{prompt}", "{args}"}, provider.Values{Prompt: "{model} {prompt}", Model: "m1", Args: []string{"{model}"}}, []string{"{model} {prompt}", "{model}"}},
		{"an empty one goes with its flag", []string{"run", "--model", "{model}", "--x", "y"}, provider.Values{}, []string{"run", "--x", "y"}},
		{"an empty one without a flag before it goes alone", []string{"run", "{model}", "end"}, provider.Values{}, []string{"run", "end"}},
		{"two dashes are no flag", []string{"run", "--", "{prompt}"}, provider.Values{}, []string{"run", "--"}},
		{"one dash is a flag", []string{"run", "-", "{prompt}"}, provider.Values{}, []string{"run"}},
		{"only the flag directly before goes", []string{"--a", "--b", "{model}"}, provider.Values{}, []string{"--a"}},
		{"two empty ones in a row", []string{"--a", "{model}", "{prompt}", "--b"}, provider.Values{}, []string{"--b"}},
		{"an empty one inside an element drops the element", []string{"run", "--model={model}"}, provider.Values{}, []string{"run"}},
		{"a prompt that looks like a flag is none", []string{"{prompt}", "{model}"}, provider.Values{Prompt: "-x"}, []string{"-x"}},
		{"an argument that looks like a flag is none", []string{"{args}", "{model}"}, provider.Values{Args: []string{"-x"}}, []string{"-x"}},
		{"braces that are no placeholder stay", []string{`{"a": 1}`, "${HOME}", "{}", "{ model }"}, full, []string{`{"a": 1}`, "${HOME}", "{}", "{ model }"}},
		{"an empty template", []string{}, full, []string{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := (provider.Entry{ArgvTemplate: tt.template}).Argv(tt.values); !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestTheShownArgvHidesTheKey(t *testing.T) {
	t.Parallel()
	e := provider.Entry{ArgvTemplate: []string{"--secret", "{api_key}", "--k={api_key}", "{prompt}"}}
	v := provider.Values{APIKey: "sk-geheim", Prompt: "hi"}
	if got, want := e.ShownArgv(v), []string{"--secret", "[secret]", "--k=[secret]", "hi"}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := e.ShownArgv(provider.Values{}), []string{}; !reflect.DeepEqual(got, want) {
		t.Errorf("without a key: got %q, want %q", got, want)
	}
	if text := fmt.Sprintf("%v %+v %#v", v, v, v); strings.Contains(text, "geheim") {
		t.Errorf("printing the values shows the key: %s", text)
	}
}
