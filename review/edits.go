package review

import (
	"slices"
	"sort"
	"strings"
)

// edits is what a patch does to the lines of a file. Lines have their end, if they have one. Lines of the file before are
// counted from 1.
type edits struct {
	list []edit
	runs []run // what the patch shows of the file before, ascending
	at   int   // the next line of the file before, while it is read
	open bool  // the last edit goes on
	came bool  // the last line that was read is one that comes
}

// edit replaces lines of the file before.
type edit struct {
	at, gone int // the first line that goes, and how many do
	come     []string
}

func (e edit) end() int { return e.at + e.gone }

// run is a part of the file before.
type run struct {
	at    int
	lines []string
}

// begin goes to a line of the file before; false: the patch was there already.
func (e *edits) begin(at int) bool {
	if at < 1 || at < e.at {
		return false
	}
	e.at, e.open = at, false
	e.runs = append(e.runs, run{at: at})
	return true
}

func (e *edits) add(op byte, line string) {
	if e.came = op == '+'; op != ' ' && !e.open {
		e.list = append(e.list, edit{at: e.at})
	}
	e.open = op != ' '
	if op == '+' {
		last := &e.list[len(e.list)-1]
		last.come = append(last.come, line)
		return
	}
	if op == '-' {
		e.list[len(e.list)-1].gone++
	}
	shown := &e.runs[len(e.runs)-1]
	shown.lines = append(shown.lines, line)
	e.at++
}

// cutEnd takes the end off the last line that was read: it is the last of its file, and has none.
func (e *edits) cutEnd() {
	if e == nil {
		return
	}
	of := &e.runs[len(e.runs)-1].lines
	if e.came {
		of = &e.list[len(e.list)-1].come
	}
	if n := len(*of); n > 0 {
		(*of)[n-1] = strings.TrimSuffix((*of)[n-1], "\n")
	}
}

// line is a line of the file before; false: the patch does not show it.
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

// whole is the file before, if the patch shows all of it, as one that takes all of it away does.
func (e *edits) whole() []string {
	if e == nil || len(e.runs) == 0 {
		return nil
	}
	return e.runs[0].lines
}

// ranges are the edits; none without a patch.
func (e *edits) ranges() []edit {
	if e == nil {
		return nil
	}
	return e.list
}

// block is a place where two versions of a file may differ, by lines of the file that both come from.
type block struct {
	at, end  int // of the file that both come from
	old, new []string
}

// blocks compares two versions of a file. What lies between blocks is the same in both. ok is false when a patch does not show
// what it must: then it is none of git.
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

// within is a version's lines of a block. Those that it has kept, the other patch takes away, and so shows.
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
		lines = append(lines, list[i].come...)
		at = list[i].end()
	}
	return lines, keep(b.end)
}
