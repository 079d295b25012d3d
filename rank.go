package svc

import "strings"

// rankDigits are the digits of ranks. A rank is a fraction in base 62, written without its "0.", so the order as text
// is the order as numbers, and there is always a rank between two others. A rank never ends in the lowest digit, so
// that there is always room below it.
const rankDigits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// MaxRank is the length in bytes above which ranks should be redistributed.
const MaxRank = 64

// rankWidth is the length of appended ranks; 62^6 of them fit.
const rankWidth = 6

// RankBetween returns a rank after a and before b. An empty a is the beginning, an empty b the end.
func RankBetween(a, b string) string {
	if b == "" {
		return rankAfter(a)
	}
	return midpoint(a, b)
}

// rankAfter returns the next rank of a fixed width, so that appending a thousand items does not produce longer and
// longer ranks.
func rankAfter(a string) string {
	if a == "" {
		return "800001" // not the lowest rank, so that ranks before it stay short
	}
	digits := []byte(cut(a+strings.Repeat("0", rankWidth), rankWidth))
	for i := rankWidth - 1; i >= 0; i-- {
		v := strings.IndexByte(rankDigits, digits[i]) + 1
		if v < len(rankDigits) {
			digits[i] = rankDigits[v]
			if digits[rankWidth-1] == '0' { // a carry set the last digit to the lowest digit, which is not allowed there
				digits[rankWidth-1] = '1'
			}
			return string(digits)
		}
		digits[i] = '0'
	}
	return a + "V" // no rank of this width is left: make a longer one
}

// midpoint returns the shortest fraction strictly between a and b; b is not empty.
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
	// The first digits are adjacent: keep the digit of a and take a fraction above the rest of a.
	return string(rankDigits[low]) + above(a[min(1, len(a)):])
}

// above returns the shortest fraction above a, without an upper bound.
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

// RanksBetween returns n ranks in order after a and before b, as short and as far apart as possible. An empty a is
// the beginning, an empty b the end.
func RanksBetween(a, b string, n int) []string {
	switch {
	case a == "" && b == "":
		return spreadRanks(n)
	case b == "": // append: ranks of fixed width
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

// spreadRanks returns n ranks with equal distances in the lower half of the range. The upper half stays free for
// appends.
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
