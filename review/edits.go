package review

import (
	"slices"
	"sort"
	"strings"
)

// edits are the changes of a patch to the lines of one file. The "old file" is the file before the patch; its lines
// are counted from 1. Each line includes its newline, except a last line without one.
type edits struct {
	list      []edit
	runs      []run // the parts of the old file that the patch shows, ascending
	at        int   // the next line of the old file, while the patch is read
	open      bool  // the last edit is not complete
	lastAdded bool  // the last line read is an added line
}

// edit replaces lines of the old file.
type edit struct {
	at, deleted int // the first deleted line, and how many are deleted
	added       []string
}

func (e edit) end() int { return e.at + e.deleted }

// run is a part of the old file that the patch shows.
type run struct {
	at    int
	lines []string
}

// begin moves to a line of the old file. It returns false if the patch is already past that line.
func (e *edits) begin(at int) bool {
	if at < 1 || at < e.at {
		return false
	}
	e.at, e.open = at, false
	e.runs = append(e.runs, run{at: at})
	return true
}

func (e *edits) add(op byte, line string) {
	if e.lastAdded = op == '+'; op != ' ' && !e.open {
		e.list = append(e.list, edit{at: e.at})
	}
	e.open = op != ' '
	if op == '+' {
		last := &e.list[len(e.list)-1]
		last.added = append(last.added, line)
		return
	}
	if op == '-' {
		e.list[len(e.list)-1].deleted++
	}
	shown := &e.runs[len(e.runs)-1]
	shown.lines = append(shown.lines, line)
	e.at++
}

// cutEnd removes the newline of the last line read: it is the last line of its file and has no newline.
func (e *edits) cutEnd() {
	if e == nil {
		return
	}
	of := &e.runs[len(e.runs)-1].lines
	if e.lastAdded {
		of = &e.list[len(e.list)-1].added
	}
	if n := len(*of); n > 0 {
		(*of)[n-1] = strings.TrimSuffix((*of)[n-1], "\n")
	}
}

// line returns a line of the old file; false: the patch does not show it.
func (e *edits) line(at int) (string, bool) {
	if e == nil {
		return "", false
	}
	i := sort.Search(len(e.runs), func(i int) bool { return e.runs[i].at > at }) - 1
	if i < 0 || at-e.runs[i].at >= len(e.runs[i].lines) {
		return "", false
	}
	return e.runs[i].lines[at-e.runs[i].at], true
}

// whole returns the old file if the patch shows all of it. A patch that deletes the file does.
func (e *edits) whole() []string {
	if e == nil || len(e.runs) == 0 {
		return nil
	}
	return e.runs[0].lines
}

// ranges returns the list of edits; nil for nil edits.
func (e *edits) ranges() []edit {
	if e == nil {
		return nil
	}
	return e.list
}

// block is a range of base lines in which two versions of a file may differ.
type block struct {
	at, end  int // lines of the base, the file that both versions come from; end is exclusive
	old, new []string
}

// blocks compares two versions of a file. Outside the blocks both versions are the same. It returns false when a
// patch does not show a line that it must show; then git did not write that patch.
func blocks(from, to *edits) (out []block, ok bool) {
	all := append(slices.Clone(from.ranges()), to.ranges()...)
	slices.SortFunc(all, func(a, b edit) int { return a.at - b.at })
	for i := 0; i < len(all); {
		b := block{at: all[i].at, end: all[i].end()}
		for ; i < len(all) && all[i].at <= b.end; i++ {
			b.end = max(b.end, all[i].end())
		}
		var okOld, okNew bool
		b.old, okOld = from.within(b, to)
		b.new, okNew = to.within(b, from)
		if !okOld || !okNew {
			return nil, false
		}
		out = append(out, b)
	}
	return out, true
}

// within returns a version's lines of a block. Base lines that this version keeps are shown by the other patch,
// because it deletes them.
func (e *edits) within(b block, other *edits) (lines []string, ok bool) {
	at := b.at
	keep := func(to int) bool {
		for ; at < to; at++ {
			line, ok := other.line(at)
			if !ok {
				return false
			}
			lines = append(lines, line)
		}
		return true
	}
	list := e.ranges()
	i := sort.Search(len(list), func(i int) bool { return list[i].at >= b.at })
	for ; i < len(list) && list[i].at <= b.end && list[i].end() <= b.end; i++ {
		if !keep(list[i].at) {
			return nil, false
		}
		lines = append(lines, list[i].added...)
		at = list[i].end()
	}
	return lines, keep(b.end)
}
