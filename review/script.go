package review

import (
	"fmt"
	"math"
	"strings"
)

// script is the difference of a file between two checkpoints. Its parts are unchanged ranges, whose lines need not be
// known, and compared lines.
type script struct {
	parts    []part
	from, to *edits
}

// part is a range of many unchanged lines, from line at of the base; or the compared lines ops.
type part struct {
	at, many int
	ops      []op
}

// endless is the length of the unchanged range after the last difference: the length of the file is not known.
const endless = math.MaxInt / 4

// newScript compares two versions of a file. nil edits mean that the version is the base itself. It returns false
// when a patch is malformed.
func newScript(from, to *edits) (*script, bool) {
	list, ok := blocks(from, to)
	if !ok {
		return nil, false
	}
	s := &script{from: from, to: to}
	at := 1
	for _, b := range list {
		s.parts = append(s.parts, part{at: at, many: b.at - at}, part{ops: compare(b.old, b.new)})
		at = b.end
	}
	s.parts = append(s.parts, part{at: at, many: endless})
	return s, true
}

// locate returns the number of an old line in the new version; false: the new version does not have it.
func (s *script) locate(line int) (int, bool) {
	old, new := 1, 1
	for _, p := range s.parts {
		if line < old+p.many {
			return new + line - old, true
		}
		old, new = old+p.many, new+p.many
		for _, o := range p.ops {
			if o.kind != '+' {
				if old == line {
					return new, o.kind == ' '
				}
				old++
			}
			if o.kind != '-' {
				new++
			}
		}
	}
	return 0, false
}

// context is how many unchanged lines are shown around a difference.
const context = 3

// item is a line of the comparison, with its number in both versions; or, when kind is 0, a gap of lines that are not
// shown.
type item struct {
	op
	old, new int
}

// items returns the comparison line by line, without unchanged lines that are more than context lines away from a
// difference.
func (s *script) items() (out []item) {
	old, new := 1, 1
	put := func(o op) {
		out = append(out, item{o, old, new})
		if o.kind != '+' {
			old++
		}
		if o.kind != '-' {
			new++
		}
	}
	for i, p := range s.parts {
		head, tail := min(p.many, context), min(p.many, context)
		if i == 0 {
			head = 0
		}
		if i == len(s.parts)-1 {
			tail = 0
		}
		for k := 0; k < p.many; {
			if k == head && p.many-tail > k {
				out = append(out, item{old: old, new: new})
				old, new, k = old+p.many-tail-k, new+p.many-tail-k, p.many-tail
				continue
			}
			line, ok := s.shown(p.at + k)
			if !ok { // the file ends here
				old, new = old+p.many-k, new+p.many-k
				out = append(out, item{old: old, new: new})
				break
			}
			put(op{' ', line})
			k++
		}
		for _, o := range p.ops {
			put(o)
		}
	}
	return out
}

// shown returns a line of the base if one of the two patches shows it.
func (s *script) shown(at int) (string, bool) {
	if line, ok := s.from.line(at); ok {
		return line, true
	}
	return s.to.line(at)
}

// hunks writes the hunks of the difference, and counts the added and deleted lines.
func (s *script) hunks(w *strings.Builder) (additions, deletions int) {
	items := s.items()
	done := 0
	for i := 0; i < len(items); i++ {
		if items[i].kind != '-' && items[i].kind != '+' {
			continue
		}
		first := i
		for first > done && i-first < context && items[first-1].kind == ' ' {
			first--
		}
		last := i // the last difference of the hunk
		end := i + 1
		for ; end < len(items) && items[end].kind != 0 && end-last <= 2*context+1; end++ {
			if items[end].kind != ' ' {
				last = end
			}
		}
		end = min(end, last+1+context)
		a, d := writeHunk(w, items[first:end])
		additions, deletions = additions+a, deletions+d
		done, i = end, end-1
	}
	return additions, deletions
}

func writeHunk(w *strings.Builder, items []item) (additions, deletions int) {
	same := 0
	for _, it := range items {
		switch it.kind {
		case ' ':
			same++
		case '-':
			deletions++
		case '+':
			additions++
		}
	}
	fmt.Fprintf(w, "@@ -%s +%s @@\n", span(items[0].old, same+deletions), span(items[0].new, same+additions))
	for _, it := range items {
		w.WriteByte(it.kind)
		w.WriteString(it.line)
		if !strings.HasSuffix(it.line, "\n") {
			w.WriteString("\n\\ No newline at end of file\n")
		}
	}
	return additions, deletions
}

// span returns a line range as git writes it. An empty range names the line before it.
func span(first, many int) string {
	switch many {
	case 0:
		return fmt.Sprintf("%d,0", first-1)
	case 1:
		return fmt.Sprint(first)
	default:
		return fmt.Sprintf("%d,%d", first, many)
	}
}
