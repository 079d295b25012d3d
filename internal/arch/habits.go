package arch

import (
	"fmt"
	"go/ast"
	"path"
	"strconv"
	"strings"
)

// undocumented tells the packages without a comment that says what they are for. A package that
// consists of tests alone has it in one of them.
func undocumented(files []file) (violations []string) {
	var dirs []string
	documented := map[string]bool{}
	source := map[string]bool{} // the directories that hold more than tests
	for _, f := range files {
		source[f.dir()] = source[f.dir()] || !f.tests
	}
	for _, f := range files {
		if f.tests && source[f.dir()] {
			continue
		}
		if _, ok := documented[f.dir()]; !ok {
			dirs = append(dirs, f.dir())
		}
		documented[f.dir()] = documented[f.dir()] || introduces(f.ast)
	}
	for _, dir := range dirs {
		if !documented[dir] {
			violations = append(violations, fmt.Sprintf("%s has no package comment that begins with its name", dir))
		}
	}
	return violations
}

// introduces tells whether the file's comment begins as godoc expects: "Package x …", and for a
// program "Command x …" as well.
func introduces(f *ast.File) bool {
	text := f.Doc.Text()
	if f.Name.Name == "main" {
		return strings.HasPrefix(text, "Command ") || strings.HasPrefix(text, "Package main ")
	}
	return strings.HasPrefix(text, "Package "+f.Name.Name+" ")
}

// sleeps tells the places where a test waits for time to pass. Inside synctest.Test the clock is the
// test's own and sleeping is how it is moved; there it is allowed.
func sleeps(f file) (violations []string) {
	clock, bubble := localName(f.ast, "time"), localName(f.ast, "testing/synctest")
	if clock == "" {
		return nil
	}
	ast.Inspect(f.ast, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.CallExpr:
			return bubble == "" || !isSelector(node.Fun, bubble, "Test")
		case *ast.SelectorExpr:
			if isSelector(node, clock, "Sleep") {
				violations = append(violations, fmt.Sprintf("%s: a test must not use time.Sleep; wait for the event", f.line(node.Pos())))
			}
		}
		return true
	})
	return violations
}

// localName is what the file calls an imported package; empty if it does not import it.
func localName(f *ast.File, importPath string) string {
	for _, spec := range f.Imports {
		if spec.Path.Value != strconv.Quote(importPath) {
			continue
		}
		if spec.Name != nil {
			return spec.Name.Name
		}
		return path.Base(importPath)
	}
	return ""
}

func isSelector(expr ast.Expr, pkg, name string) bool {
	selector, ok := expr.(*ast.SelectorExpr)
	if !ok || selector.Sel.Name != name {
		return false
	}
	x, ok := selector.X.(*ast.Ident)
	return ok && x.Name == pkg
}
