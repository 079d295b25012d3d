package config_test

import (
	"flag"
	"os"
	"testing"

	"svc/config"
)

var update = flag.Bool("update", false, "write docs/config.md")

func TestTheReferenceIsFresh(t *testing.T) {
	t.Parallel()
	const path = "../docs/config.md"
	want := config.Markdown()
	if *update {
		if err := os.MkdirAll("../docs", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s is not what the types say; run: go test ./config -update", path)
	}
}
