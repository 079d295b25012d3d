package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)|(?:src|srcset)="([^"]+)"`)
	heading = regexp.MustCompile(`(?m)^#+ (.+)$`)
	target  = regexp.MustCompile("`make ([a-z-]+)")
	typed   = regexp.MustCompile("(?m)^make ([a-z-]+)") // in a block
	script  = regexp.MustCompile(`\bscripts/([a-z-]+(?:\.sh)?)\b`)
	block   = regexp.MustCompile("(?sm)^```.*?^```$")
)

// documents returns the text of all Markdown pages, by their path relative to this folder.
func documents(t *testing.T) map[string]string {
	t.Helper()
	pages := map[string]string{}
	for _, pattern := range []string{"*.md", filepath.Join("..", "*.md")} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			pages[file] = string(text)
		}
	}
	if len(pages) < 15 {
		t.Fatalf("only %d pages were found", len(pages))
	}
	return pages
}

func TestEveryLinkLeadsSomewhere(t *testing.T) {
	t.Parallel()
	pages := documents(t)
	for file, text := range pages {
		for _, m := range link.FindAllStringSubmatch(block.ReplaceAllString(text, ""), -1) {
			to, anchor, _ := strings.Cut(m[1]+m[2], "#")
			if strings.Contains(to, "://") {
				continue
			}
			page := file
			if to != "" {
				page = filepath.Join(filepath.Dir(file), to)
			}
			if _, err := os.Stat(page); err != nil {
				t.Errorf("%s leads to %s: %v", file, m[0], err)
				continue
			}
			there, isPage := pages[strings.TrimPrefix(page, filepath.Join("..", "docs")+string(filepath.Separator))]
			if isPage && anchor != "" && !slices.Contains(anchors(there), anchor) {
				t.Errorf("%s leads to %s, and there is no such heading", file, m[0])
			}
		}
	}
}

// anchors returns the link targets of the headings of a page.
func anchors(page string) (names []string) {
	for _, m := range heading.FindAllStringSubmatch(block.ReplaceAllString(page, ""), -1) {
		names = append(names, strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-', r == '_', r >= '0' && r <= '9', r >= 'a' && r <= 'z':
				return r
			}
			return -1
		}, strings.ToLower(m[1])))
	}
	return names
}

func TestEveryTargetAndScriptThatIsNamedExists(t *testing.T) {
	t.Parallel()
	makefile, err := os.ReadFile(filepath.Join("..", "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	targets := 0
	for file, text := range documents(t) {
		named := target.FindAllStringSubmatch(text, -1)
		for _, lines := range block.FindAllString(text, -1) {
			named = append(named, typed.FindAllStringSubmatch(lines, -1)...)
		}
		for _, m := range named {
			targets++
			if !strings.Contains(string(makefile), "\n"+m[1]+":") {
				t.Errorf("%s names `make %s`, which there is not", file, m[1])
			}
		}
		for _, m := range script.FindAllStringSubmatch(text, -1) {
			if _, err := os.Stat(filepath.Join("..", "scripts", m[1])); err != nil {
				t.Errorf("%s names a script: %v", file, err)
			}
		}
	}
	if targets < 20 {
		t.Errorf("only %d targets were found", targets)
	}
}
