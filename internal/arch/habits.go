package arch

import (
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"strconv"
	"strings"
)

// undocumented returns the packages without a comment that says what they are for. A package that has only tests has
// the comment in one of them.
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

// introduces reports whether the file's package comment begins as godoc expects: "Package x …", or "Command x …" for
// a program.
func introduces(f *ast.File) bool {
	text := f.Doc.Text()
	if f.Name.Name == "main" {
		return strings.HasPrefix(text, "Command ") || strings.HasPrefix(text, "Package main ")
	}
	return strings.HasPrefix(text, "Package "+f.Name.Name+" ")
}

// sleeps returns the places where a test waits for time to pass: time.Sleep, and a receive from a timer outside of a
// select. A test that must let time pass uses internal/clocktest.
func sleeps(f file) (violations []string) {
	clock := localName(f.ast, "time")
	if clock == "" {
		return nil
	}
	chosen := map[ast.Stmt]bool{} // the cases of selects that have several: such a select waits for an event too
	ast.Inspect(f.ast, func(node ast.Node) bool {
		what := ""
		switch node := node.(type) {
		case *ast.SelectStmt:
			for _, clause := range node.Body.List {
				chosen[clause.(*ast.CommClause).Comm] = len(node.Body.List) > 1
			}
		case *ast.SelectorExpr:
			if isSelector(node, clock, "Sleep") {
				what = "use time.Sleep"
			}
		case *ast.ExprStmt:
			if !chosen[node] && receivesTime(node.X, clock) {
				what = "wait for a timer alone"
			}
		}
		if what != "" {
			violations = append(violations, fmt.Sprintf("%s: a test must not %s; wait for the event, or say with internal/clocktest that time passes", f.line(node.Pos()), what))
		}
		return true
	})
	return violations
}

// receivesTime reports whether an expression receives from the channel of a timer or ticker.
func receivesTime(expr ast.Expr, clock string) bool {
	receive, ok := expr.(*ast.UnaryExpr)
	if !ok || receive.Op != token.ARROW {
		return false
	}
	if call, ok := receive.X.(*ast.CallExpr); ok {
		return isSelector(call.Fun, clock, "After") || isSelector(call.Fun, clock, "Tick")
	}
	field, ok := receive.X.(*ast.SelectorExpr)
	return ok && field.Sel.Name == "C"
}

// givesUpSoon returns the places where a test waits for an event only for some seconds or minutes: on a loaded machine
// it fails although nothing is wrong.
func givesUpSoon(f file) (violations []string) {
	clock := localName(f.ast, "time")
	if clock == "" {
		return nil
	}
	ast.Inspect(f.ast, func(node ast.Node) bool {
		call, ok := node.(*ast.CallExpr)
		if ok && isSelector(call.Fun, clock, "After") && countsSeconds(call.Args, clock) {
			violations = append(violations, fmt.Sprintf("%s: a test must not give up so soon; wait for waittest.Patience", f.line(call.Pos())))
		}
		return true
	})
	return violations
}

// countsSeconds reports whether a duration is given in seconds or minutes.
func countsSeconds(args []ast.Expr, clock string) (does bool) {
	for _, arg := range args {
		ast.Inspect(arg, func(node ast.Node) bool {
			expr, _ := node.(ast.Expr)
			does = does || isSelector(expr, clock, "Second") || isSelector(expr, clock, "Minute")
			return true
		})
	}
	return does
}

// localName returns the name that the file gives to an imported package; empty if the file does not import it.
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
