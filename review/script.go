package review

import (
	"fmt"
	"math"
	"strings"
)

// script is how a file differs between two checkpoints: parts that are the same and whose lines need not be known, and lines.
type script struct {
	parts    []part
	from, to *edits
}

// part is a number of lines that are the same in both versions, from a line of the file that both come from; or lines.
type part struct {
	at, many int
	ops      []op
}

// endless stands for the lines after the last difference: nobody has counted them.
const endless = math.MaxInt / 4

// newScript compares two versions of a file. A nil one is the file that both come from.
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

// locate is where a line of the old version is in the new one; false: it is not there.
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

// context is how many lines around a difference are shown.
const context = 3

// item is a line of the comparison, with its number in both versions; or, of kind 0, a number of lines that are not shown.
type item struct {
	op
	old, new int
}

// items is the comparison line by line, apart from what is the same and further from a difference than context.
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

// shown is a line of the file that both versions come from, if one of the patches shows it.
func (s *script) shown(at int) (string, bool) {
	if line, ok := s.from.line(at); ok {
		return line, true
	}
	return s.to.line(at)
}

// hunks writes the differences as a patch has them, and counts them.
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

// span is a place in a file as git writes it: without lines, it is the line before.
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
