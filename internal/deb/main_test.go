package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"svc/internal/needtest"
)

func packed(t *testing.T) []byte {
	t.Helper()
	var out bytes.Buffer
	root := fstest.MapFS{"usr/bin/svc": {Data: []byte("#!/bin/sh\necho hello\n")}, "usr/share/doc/svc/copyright": {Data: []byte("ours")}}
	if err := pack(&out, "v1.2.3-4-gabcdef0", "amd64", time.Unix(1_700_000_000, 0), root); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestAPackageIsTheSameBytesEachTime(t *testing.T) {
	t.Parallel()
	if first, second := packed(t), packed(t); !bytes.Equal(first, second) {
		t.Error("two packages of the same files differ")
	}
}

func TestDpkgReadsThePackage(t *testing.T) {
	t.Parallel()
	dpkg := needtest.Extra(t, "dpkg-deb")
	dir := t.TempDir()
	file := filepath.Join(dir, "svc.deb")
	if err := os.WriteFile(file, packed(t), 0o644); err != nil {
		t.Fatal(err)
	}
	fields, err := exec.CommandContext(t.Context(), dpkg, "--field", file, "Package", "Version", "Architecture").CombinedOutput()
	if want := "Package: svc\nVersion: 1.2.3+4+gabcdef0\nArchitecture: amd64\n"; err != nil || string(fields) != want {
		t.Errorf("got %v %q, want %q", err, fields, want)
	}
	if out, err := exec.CommandContext(t.Context(), dpkg, "--extract", file, filepath.Join(dir, "root")).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	said, err := exec.CommandContext(t.Context(), filepath.Join(dir, "root", "usr", "bin", "svc")).Output()
	if err != nil || strings.TrimSpace(string(said)) != "hello" {
		t.Errorf("the installed program: %v, %q", err, said)
	}
}

func TestAVersionIsWrittenAsDpkgTakesIt(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]string{
		"v1.2.3": "1.2.3", "1.2.3-dirty": "1.2.3+dirty", "65ea68e": "0~65ea68e", "c291b4c-dirty": "0~c291b4c+dirty", "unknown": "0~unknown",
	} {
		if got := debianVersion(version); got != want {
			t.Errorf("%s: got %s, want %s", version, got, want)
		}
	}
}
