// Package arch checks a source tree against the rules of this project's architecture: which package may import which,
// and a few rules that hold for every file. It reads a tree and returns each violation as a sentence. The table of
// packages is in the module's arch_test.go.
package arch

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// MaxLines is the greatest length of a hand-written file. A longer one usually has two subjects.
const MaxLines = 700

// Package is one row of the table.
type Package struct {
	// Imports are the packages of the module that it may import, as directories; "." is the root.
	Imports []string
	// TestImports are the packages that its tests may import in addition. The package itself and Rules.TestSupport
	// need not be named.
	TestImports []string
	// Never are import paths from outside the module that it must not import, including every package below them. Its
	// tests may.
	Never []string
	// NeverSelects are the names of fields and methods that its code must not use, because they bypass the package
	// that it must go through. Its tests may use them.
	NeverSelects []string
}

// Rules describe a module. A directory with its own go.mod is another module: the rules about imports do not apply to
// its files, the rules for every file do.
type Rules struct {
	Module      string             // the module's path, as in go.mod
	Packages    map[string]Package // by directory; may name packages that do not exist yet
	TestSupport []string           // packages that the tests of every package may import
}

// file is a Go file to check.
type file struct {
	name  string // slash-separated, from the root of the tree
	tests bool   // its name ends in _test.go
	inner bool   // it belongs to this module, not to a nested one
	set   *token.FileSet
	ast   *ast.File
}

func (f file) dir() string { return path.Dir(f.name) }

func (f file) line(at token.Pos) string {
	return fmt.Sprintf("%s:%d", f.name, f.set.Position(at).Line)
}

// Check returns one sentence for each violation in the tree, in the order of file names, and an error
// when the tree cannot be read or parsed.
func (r Rules) Check(tree fs.FS) ([]string, error) {
	files, violations, err := r.read(tree)
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		if f.inner {
			violations = append(violations, r.imports(f)...)
			violations = append(violations, r.selects(f)...)
		}
		if f.tests {
			violations = append(violations, sleeps(f)...)
			violations = append(violations, givesUpSoon(f)...)
		}
	}
	violations = append(violations, r.unlisted(files)...)
	violations = append(violations, undocumented(files)...)
	slices.Sort(violations)
	return violations, nil
}

// read parses the tree's Go files. It returns them, and the violations that need no parsing: Go and TypeScript files
// that are too long, and metaphors in any text.
func (r Rules) read(tree fs.FS) (files []file, violations []string, err error) {
	var nested []string
	err = fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if skipped(name) {
				return fs.SkipDir
			}
			if _, err := fs.Stat(tree, path.Join(name, "go.mod")); err == nil && name != "." {
				nested = append(nested, name+"/")
			}
			return nil
		}
		if !slices.Contains(prose, path.Ext(name)) || !entry.Type().IsRegular() {
			return nil
		}
		source, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		violations = append(violations, metaphorsIn(name, source)...)
		if lines := bytes.Count(source, []byte("\n")); lines > MaxLines && slices.Contains([]string{".go", ".ts", ".tsx"}, path.Ext(name)) && !generated(source) {
			violations = append(violations, fmt.Sprintf("%s has %d lines, more than %d", name, lines, MaxLines))
		}
		if path.Ext(name) != ".go" {
			return nil
		}
		f := file{name: name, tests: strings.HasSuffix(name, "_test.go"), set: token.NewFileSet()}
		f.inner = !slices.ContainsFunc(nested, func(dir string) bool { return strings.HasPrefix(name, dir) })
		f.ast, err = parser.ParseFile(f.set, name, source, r.mode(f))
		if err != nil {
			return err
		}
		files = append(files, f)
		return nil
	})
	return files, violations, err
}

// mode returns how much of a file must be parsed: the bodies of functions only in tests, and in packages with
// NeverSelects.
func (r Rules) mode(f file) parser.Mode {
	if f.tests || len(r.Packages[f.dir()].NeverSelects) > 0 {
		return parser.ParseComments | parser.SkipObjectResolution
	}
	return parser.ParseComments | parser.ImportsOnly
}

// skipped reports whether a directory has no source of this project.
func skipped(dir string) bool {
	base := path.Base(dir)
	switch base {
	case ".":
		return false
	case "node_modules", "testdata", "dist", "bin":
		return true
	}
	return strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_")
}

var generatedMark = regexp.MustCompile(`(?mi)^\s*(//|/?\*).*(code generated .*do not edit|@generated|auto(matically |-)?generated)`)

// generated reports whether a file's first lines have the mark of a generator, in Go or in TypeScript.
func generated(source []byte) bool {
	return generatedMark.Match(source[:min(len(source), 1000)])
}

// own returns the directory of an import path if it is one of the module's.
func (r Rules) own(importPath string) (dir string, ok bool) {
	if importPath == r.Module {
		return ".", true
	}
	return strings.CutPrefix(importPath, r.Module+"/")
}

func (r Rules) imports(f file) (violations []string) {
	row := r.Packages[f.dir()] // unlisted reports a package without a row
	for _, spec := range f.ast.Imports {
		importPath, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue // the parser has checked it
		}
		if dir, ok := r.own(importPath); ok {
			if !r.allowed(f, row, dir) {
				violations = append(violations, fmt.Sprintf("%s: %s must not import %s", f.line(spec.Pos()), f.dir(), importPath))
			}
			continue
		}
		within := func(never string) bool { return importPath == never || strings.HasPrefix(importPath, never+"/") }
		if !f.tests && slices.ContainsFunc(row.Never, within) {
			violations = append(violations, fmt.Sprintf("%s: %s must not know %s", f.line(spec.Pos()), f.dir(), importPath))
		}
	}
	return violations
}

func (r Rules) allowed(f file, row Package, dir string) bool {
	if slices.Contains(row.Imports, dir) {
		return true
	}
	return f.tests && (dir == f.dir() || slices.Contains(row.TestImports, dir) || slices.Contains(r.TestSupport, dir))
}

// selects returns the places where code uses a field or method that its package must not use.
func (r Rules) selects(f file) (violations []string) {
	never := r.Packages[f.dir()].NeverSelects
	if f.tests || len(never) == 0 {
		return nil
	}
	ast.Inspect(f.ast, func(node ast.Node) bool {
		if s, ok := node.(*ast.SelectorExpr); ok && slices.Contains(never, s.Sel.Name) {
			violations = append(violations, fmt.Sprintf("%s: %s must not use .%s", f.line(s.Sel.Pos()), f.dir(), s.Sel.Name))
		}
		return true
	})
	return violations
}

// unlisted returns the packages that are not in the table.
func (r Rules) unlisted(files []file) (violations []string) {
	reported := map[string]bool{}
	for _, f := range files {
		if _, ok := r.Packages[f.dir()]; ok || !f.inner || reported[f.dir()] {
			continue
		}
		reported[f.dir()] = true
		violations = append(violations, fmt.Sprintf("%s is not in the table of packages", f.dir()))
	}
	return violations
}
