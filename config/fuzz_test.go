package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/pelletier/go-toml/v2"

	"svc/config"
)

// FuzzConfig passes documents to Load. Load must not panic; an error must have a message; an accepted config
// must be valid, and the same after it is written and read again.
func FuzzConfig(f *testing.F) {
	for _, seed := range []string{
		"", "catalog_path = \"~/x\"", "server = { port = 1 }", "server.port = 0\nserver.bind = \"::1\"",
		"[server]\nallowed_origins = [\"HTTPS://A:443\"]\ntls_cert = \"c\"\ntls_key = \"k\"",
		"[[server]]", "[worker]\nstop_grace = [\"1s\", \"2s\"]\nmax_log_bytes = 0x10\nserver_url = \"http://h//\"",
		"[runs]\nlost_after = \"off\"", "[retention]\nevents_days = 1979-05-27", "\"\" = 1\n[\"a\\u0000b\".c]",
		"[gateway]\nurl = \"http://[::1%25a]:80/\"\napi_key = '''x'''",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		src := config.Sources{DataDir: "/data", ConfigFile: filepath.Join(t.TempDir(), "c.toml"), Env: vars{"HOME": "/h"}.get}
		c, err := loadBytes(t, src, data)
		if err != nil {
			if err.Error() == "" {
				t.Error("an error without a message")
			}
			return
		}
		if err := c.Validate(); err != nil {
			t.Fatalf("accepted, but not valid: %v", err)
		}
		text, err := toml.Marshal(document(c))
		if err != nil {
			t.Fatal(err)
		}
		again, err := loadBytes(t, src, text)
		if err != nil {
			t.Fatalf("written out again it is refused: %v\n%s", err, text)
		}
		if got, want := document(again), document(c); !reflect.DeepEqual(got, want) {
			t.Errorf("written out and read again it is\n%v\nbut was\n%v", got, want)
		}
	})
}

func loadBytes(t *testing.T, src config.Sources, data []byte) (*config.Config, error) {
	t.Helper()
	if err := os.WriteFile(src.ConfigFile, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return config.Load(src)
}

// document returns the config as a TOML document, without empty values.
func document(c *config.Config) map[string]any {
	doc := map[string]any{}
	collect(doc, reflect.ValueOf(*c))
	if c.Runs.LostAfter == 0 {
		doc["runs"].(map[string]any)["lost_after"] = "off"
	}
	return doc
}

func collect(doc map[string]any, v reflect.Value) {
	for i := range v.NumField() {
		key, field := v.Type().Field(i).Tag.Get("toml"), v.Field(i)
		if key == "" || key == "-" {
			continue
		}
		switch value := field.Interface().(type) {
		case string, int, int64, bool, []string:
			if s, ok := value.(string); !ok || s != "" {
				doc[key] = value
			}
		case config.Secret:
			doc[key] = string(value)
		case time.Duration:
			doc[key] = value.String()
		case [2]time.Duration:
			doc[key] = []string{value[0].String(), value[1].String()}
		default:
			if field.Kind() != reflect.Struct {
				panic(fmt.Sprintf("%s has a type that is not written out", key))
			}
			sub := map[string]any{}
			doc[key] = sub
			collect(sub, field)
		}
	}
}
