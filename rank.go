package svc

import "strings"

// A rank is a fraction in base 62, written without its "0.": text order is
// number order, and between any two there is a third. A rank never ends in the
// lowest digit, so that every rank has room below it.
const rankDigits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// MaxRank is the length past which ranks are worth spreading anew.
const MaxRank = 64

// rankWidth is the length of ranks that are appended: 62^6 appends fit into it.
const rankWidth = 6

// RankBetween is a rank after a and before b. An empty a is the beginning, an
// empty b the end.
func RankBetween(a, b string) string {
	if b == "" {
		return rankAfter(a)
	}
	return midpoint(a, b)
}

// rankAfter counts upwards in ranks of a fixed width, so that appending a
// thousand items does not make a thousand lengths.
func rankAfter(a string) string {
	if a == "" {
		return "800001" // not at the bottom, so that ranks before it stay short
	}
	digits := []byte(cut(a+strings.Repeat("0", rankWidth), rankWidth))
	for i := rankWidth - 1; i >= 0; i-- {
		v := strings.IndexByte(rankDigits, digits[i]) + 1
		if v < len(rankDigits) {
			digits[i] = rankDigits[v]
			if digits[rankWidth-1] == '0' { // a carry left the lowest digit at the end
				digits[rankWidth-1] = '1'
			}
			return string(digits)
		}
		digits[i] = '0'
	}
	return a + "V" // the width is used up: grow
}

// midpoint is the shortest fraction strictly between a and b; b is not empty.
func midpoint(a, b string) string {
	n := 0
	for n < len(b) && digitAt(a, n) == b[n] {
		n++
	}
	if n > 0 {
		return b[:n] + midpoint(a[min(n, len(a)):], b[n:])
	}
	low := strings.IndexByte(rankDigits, digitAt(a, 0))
	high := len(rankDigits)
	if b != "" {
		high = strings.IndexByte(rankDigits, b[0])
	}
	if high-low > 1 {
		return string(rankDigits[(low+high)/2])
	}
	if len(b) > 1 {
		return b[:1]
	}
	// The first digits are neighbours: keep a's and go above what follows it.
	return string(rankDigits[low]) + above(a[min(1, len(a)):])
}

// above is the shortest fraction above a with no upper bound.
func above(a string) string {
	low := strings.IndexByte(rankDigits, digitAt(a, 0))
	if high := len(rankDigits); high-low > 1 {
		return string(rankDigits[(low+high)/2])
	}
	return string(rankDigits[low]) + above(a[1:])
}

func digitAt(s string, i int) byte {
	if i < len(s) {
		return s[i]
	}
	return rankDigits[0]
}

// RanksBetween gives n ranks in order after a and before b, as short and as far
// apart as there is room. An empty a is the beginning, an empty b the end.
func RanksBetween(a, b string, n int) []string {
	switch {
	case a == "" && b == "":
		return spreadRanks(n)
	case b == "": // appended: they have a fixed width
		out := make([]string, n)
		for i := range out {
			a = rankAfter(a)
			out[i] = a
		}
		return out
	case n == 0:
		return nil
	}
	middle := midpoint(a, b)
	out := append(RanksBetween(a, middle, n/2), middle)
	return append(out, RanksBetween(middle, b, n-n/2-1)...)
}

// spreadRanks gives n ranks evenly apart over the lower half: the upper one
// stays free for appends.
func spreadRanks(n int) []string {
	const space = 62 * 62 * 62 * 62 * 62 * 62
	out := make([]string, n)
	step := uint64(space / 2 / (n + 1))
	for i := range out {
		v := step * uint64(i+1)
		var d [rankWidth]byte
		for k := rankWidth - 1; k >= 0; k-- {
			d[k] = rankDigits[v%62]
			v /= 62
		}
		if d[rankWidth-1] == '0' {
			d[rankWidth-1] = '1'
		}
		out[i] = string(d[:])
	}
	return out
}
