package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const lock = `{"packages": {
	"": {"name": "page", "version": "0.0.0"},
	"node_modules/react": {"version": "19.0.0", "license": "MIT", "integrity": "sha512-AAECAw=="},
	"node_modules/a/node_modules/@scope/b": {"version": "1.2.3"},
	"node_modules/vite": {"version": "7.0.0", "dev": true}
}}`

func TestABillNamesWhatIsInTheBinaryAndInThePage(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "package-lock.json")
	if err := os.WriteFile(file, []byte(lock), 0o600); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	first, err := describe("v1", self, file)
	if err != nil {
		t.Fatal(err)
	}
	second, err := describe("v1", self, file)
	if err != nil || !bytes.Equal(first, second) {
		t.Errorf("two bills of one release differ (%v)", err)
	}
	var got bill
	if err := json.Unmarshal(first, &got); err != nil {
		t.Fatal(err)
	}
	if got.Format != "CycloneDX" || got.Spec != "1.5" || got.Metadata.Component.Version != "v1" {
		t.Errorf("the head is %+v", got)
	}
	refs := map[string]component{}
	for _, c := range got.Components {
		refs[c.PURL] = c
	}
	if c := refs["pkg:npm/react@19.0.0"]; len(c.Hashes) != 1 || c.Hashes[0].Content != "00010203" || c.Licenses[0].Expression != "MIT" {
		t.Errorf("react is %+v", c)
	}
	if _, ok := refs["pkg:npm/%40scope/b@1.2.3"]; !ok {
		t.Errorf("a package of a scope is missing in %s", first)
	}
	if text := string(first); strings.Contains(text, "vite") || !strings.Contains(text, "pkg:golang/stdlib@") {
		t.Errorf("the components are %s", text)
	}
}

func TestWhatIsNoBinaryIsAnError(t *testing.T) {
	t.Parallel()
	if _, err := describe("v1", "main.go", "main.go"); err == nil {
		t.Error("got no error")
	}
}
