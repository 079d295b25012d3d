package review

// op is one line of a comparison: ' ' is in both versions, '-' only in the old one, '+' only in the new one.
type op struct {
	kind byte
	line string
}

// mostEdits limits the search for the smallest difference. Beyond it, all lines are reported as replaced, which is
// correct but longer.
const mostEdits = 1000

// compare returns the smallest difference of two lists of lines (Myers, 1986). In each changed place, deleted lines
// are before added lines.
func compare(old, new []string) []op {
	var out []op
	same := 0
	for same < len(old) && same < len(new) && old[same] == new[same] {
		out = append(out, op{' ', old[same]})
		same++
	}
	old, new = old[same:], new[same:]
	tail := 0
	for tail < len(old) && tail < len(new) && old[len(old)-1-tail] == new[len(new)-1-tail] {
		tail++
	}
	rest := old[len(old)-tail:]
	out = append(out, shortest(old[:len(old)-tail], new[:len(new)-tail])...)
	for _, line := range rest {
		out = append(out, op{' ', line})
	}
	return out
}

// shortest searches forward along the diagonals. It stores the furthest points for each number of edits, for
// walkBack.
func shortest(old, new []string) []op {
	if len(old) == 0 || len(new) == 0 {
		return replaced(old, new)
	}
	limit := min(len(old)+len(new), mostEdits)
	reached := make([]int, 2*limit+3) // the furthest old line on each diagonal
	middle := limit + 1
	var trace [][]int
	for d := 0; d <= limit; d++ {
		for k := -d; k <= d; k += 2 {
			x := reached[middle+k-1] + 1
			if k == -d || k != d && reached[middle+k-1] < reached[middle+k+1] {
				x = reached[middle+k+1]
			}
			for x < len(old) && x-k < len(new) && x-k >= 0 && old[x] == new[x-k] {
				x++
			}
			reached[middle+k] = x
			if x >= len(old) && x-k >= len(new) {
				return walkBack(old, new, trace, d, k)
			}
		}
		trace = append(trace, append([]int(nil), reached[middle-d:middle+d+1]...))
	}
	return replaced(old, new)
}

// walkBack reconstructs the path to the end on diagonal k with d edits.
func walkBack(old, new []string, trace [][]int, d, k int) []op {
	var back []op
	x, y := len(old), len(new)
	for ; d > 0; d-- {
		before := trace[d-1] // diagonals -(d-1) to d-1
		at := func(k int) int {
			if i := k + d - 1; i >= 0 && i < len(before) {
				return before[i]
			}
			return -1
		}
		from := k - 1
		if k == -d || k != d && at(k-1) < at(k+1) {
			from = k + 1
		}
		toX := at(from)
		toY := toX - from
		for x > toX && y > toY && x > 0 && y > 0 && (from == k+1 && y > toY+1 || from == k-1 && x > toX+1) {
			x, y = x-1, y-1
			back = append(back, op{' ', old[x]})
		}
		if from == k+1 {
			y--
			back = append(back, op{'+', new[y]})
		} else {
			x--
			back = append(back, op{'-', old[x]})
		}
		k = from
	}
	for x > 0 {
		x--
		back = append(back, op{' ', old[x]})
	}
	out := make([]op, 0, len(back))
	for i := len(back) - 1; i >= 0; i-- {
		out = append(out, back[i])
	}
	return deletedFirst(out)
}

// deletedFirst moves deleted lines before added lines, between lines that both versions have.
func deletedFirst(ops []op) []op {
	out := make([]op, 0, len(ops))
	for i := 0; i < len(ops); {
		if ops[i].kind == ' ' {
			out = append(out, ops[i])
			i++
			continue
		}
		end := i
		for end < len(ops) && ops[end].kind != ' ' {
			end++
		}
		for _, kind := range []byte{'-', '+'} {
			for _, o := range ops[i:end] {
				if o.kind == kind {
					out = append(out, o)
				}
			}
		}
		i = end
	}
	return out
}

func replaced(old, new []string) []op {
	out := make([]op, 0, len(old)+len(new))
	for _, line := range old {
		out = append(out, op{'-', line})
	}
	for _, line := range new {
		out = append(out, op{'+', line})
	}
	return out
}
