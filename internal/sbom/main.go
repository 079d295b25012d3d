// Command sbom prints the bill of materials of a release as CycloneDX JSON: the Go modules that a binary was built
// from, which it reads from the binary itself, and the packages of the page that the binary embeds.
//
//	sbom VERSION BINARY PACKAGE-LOCK
//
// The output has no time and no serial number, so that the same release has the same bytes.
package main

import (
	"cmp"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
)

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: sbom VERSION BINARY PACKAGE-LOCK")
		os.Exit(2)
	}
	b, err := describe(os.Args[1], os.Args[2], os.Args[3])
	if err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
	_, _ = os.Stdout.Write(b)
}

// bill is the part of CycloneDX 1.5 that a release needs.
type bill struct {
	Format     string      `json:"bomFormat"`
	Spec       string      `json:"specVersion"`
	Version    int         `json:"version"`
	Metadata   metadata    `json:"metadata"`
	Components []component `json:"components"`
}

type metadata struct {
	Component component `json:"component"`
}

type component struct {
	Type     string    `json:"type"`
	Ref      string    `json:"bom-ref"`
	Name     string    `json:"name"`
	Version  string    `json:"version"`
	Hashes   []hash    `json:"hashes,omitempty"`
	Licenses []license `json:"licenses,omitempty"`
	PURL     string    `json:"purl,omitempty"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

type license struct {
	Expression string `json:"expression"`
}

// describe returns the bill of one binary.
func describe(version, binary, lock string) ([]byte, error) {
	modules, err := goModules(binary)
	if err != nil {
		return nil, err
	}
	packages, err := npmPackages(lock)
	if err != nil {
		return nil, err
	}
	all := slices.Concat(modules, packages)
	slices.SortFunc(all, func(a, b component) int { return cmp.Compare(a.Ref, b.Ref) })
	b, err := json.MarshalIndent(bill{
		Format: "CycloneDX", Spec: "1.5", Version: 1,
		Metadata:   metadata{component{Type: "application", Ref: "svc", Name: "svc", Version: version}},
		Components: slices.CompactFunc(all, func(a, b component) bool { return a.Ref == b.Ref }),
	}, "", "  ")
	return append(b, '\n'), err
}

// goModules returns the modules in a binary, and the Go release that built it.
func goModules(binary string) ([]component, error) {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return nil, fmt.Errorf("read what %s was built from: %w", binary, err)
	}
	all := []component{library("golang", "stdlib", strings.TrimPrefix(info.GoVersion, "go"))}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		all = append(all, library("golang", m.Path, m.Version))
	}
	return all, nil
}

// npmPackages returns the packages of a lock file, without those that are for development only.
func npmPackages(lock string) ([]component, error) {
	b, err := os.ReadFile(lock)
	if err != nil {
		return nil, err
	}
	var file struct {
		Packages map[string]struct {
			Version, Integrity, License string
			Dev                         bool
		}
	}
	if err := json.Unmarshal(b, &file); err != nil {
		return nil, fmt.Errorf("read %s: %w", lock, err)
	}
	var all []component
	for path, p := range file.Packages {
		_, name, ok := strings.Cut(path, "node_modules/")
		if at := strings.LastIndex(name, "node_modules/"); at >= 0 {
			name = name[at+len("node_modules/"):]
		}
		if !ok || p.Dev || p.Version == "" {
			continue
		}
		c := library("npm", name, p.Version)
		if sum, found := strings.CutPrefix(p.Integrity, "sha512-"); found {
			raw, err := base64.StdEncoding.DecodeString(sum)
			if err != nil {
				return nil, fmt.Errorf("the checksum of %s in %s: %w", name, lock, err)
			}
			c.Hashes = []hash{{"SHA-512", hex.EncodeToString(raw)}}
		}
		if p.License != "" {
			c.Licenses = []license{{p.License}}
		}
		all = append(all, c)
	}
	return all, nil
}

func library(kind, name, version string) component {
	parts := strings.Split(name, "/")
	for i, part := range parts {
		parts[i] = strings.ReplaceAll(url.PathEscape(part), "@", "%40")
	}
	purl := "pkg:" + kind + "/" + strings.Join(parts, "/") + "@" + url.PathEscape(version)
	return component{Type: "library", Ref: purl, Name: name, Version: version, PURL: purl}
}
