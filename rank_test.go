package svc_test

import (
	"slices"
	"sort"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"svc"
)

// aRank draws any text that is a valid rank: base 62, not ending in the lowest digit.
func aRank(t *rapid.T, label string) string {
	return rapid.StringMatching(`[0-9A-Za-z]{0,8}[1-9A-Za-z]`).Draw(t, label)
}

func checkBetween(t interface{ Fatalf(string, ...any) }, a, b string) string {
	got := svc.RankBetween(a, b)
	if got <= a || b != "" && got >= b || strings.HasSuffix(got, "0") {
		t.Fatalf("between %q and %q: %q", a, b, got)
	}
	return got
}

func TestRankIsStrictlyBetween(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b := aRank(t, "a"), aRank(t, "b")
		if a > b {
			a, b = b, a
		}
		checkBetween(t, "", a)
		checkBetween(t, b, "")
		checkBetween(t, "", "")
		if a != b {
			checkBetween(t, a, b)
		}
	})
}

func TestRanksHaveRoomAnywhereForEver(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var ranks []string
		for range rapid.IntRange(1, 150).Draw(t, "inserts") {
			at := rapid.IntRange(0, len(ranks)).Draw(t, "at")
			a, b := "", ""
			if at > 0 {
				a = ranks[at-1]
			}
			if at < len(ranks) {
				b = ranks[at]
			}
			ranks = slices.Insert(ranks, at, checkBetween(t, a, b))
		}
		if !sort.StringsAreSorted(ranks) || len(slices.Compact(slices.Clone(ranks))) != len(ranks) {
			t.Fatalf("not strictly in order: %q", ranks)
		}
	})
}

func TestAppendedRanksStayShort(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		last := rapid.SampledFrom([]string{"", "1", "V", "yzzzzy", "7zzzzzzzzzz", "800001"}).Draw(t, "start")
		for range 500 {
			next := checkBetween(t, last, "")
			if len(next) > 6 {
				t.Fatalf("after %q comes %q", last, next)
			}
			last = next
		}
	})
	if got := checkBetween(t, "zzzzzz", ""); len(got) != 7 { // no rank of this width is left
		t.Errorf("after the last short rank comes %q", got)
	}
}

func TestRanksBeforeTheFirstAndInOneGapGrowSlowly(t *testing.T) {
	t.Parallel()
	first, low, high := "800001", "800001", "800002"
	for range 300 {
		first = checkBetween(t, "", first)
		high = checkBetween(t, low, high)
	}
	// A rank has about five halvings per digit, so a project reaches MaxRank, and gets new ranks, after hundreds of
	// moves into one gap.
	if len(first) > svc.MaxRank || len(high) > svc.MaxRank+10 {
		t.Errorf("after 300 inserts: %d and %d characters", len(first), len(high))
	}
}

func TestSpreadRanksAreShortAndInOrder(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 2, 3, 61, 62, 63, 10_000, 1_000_000} {
		ranks := svc.RanksBetween("", "", n)
		if len(ranks) != n {
			t.Fatalf("%d ranks of %d", len(ranks), n)
		}
		for i, r := range ranks {
			if len(r) != 6 || strings.HasSuffix(r, "0") || i > 0 && r <= ranks[i-1] {
				t.Fatalf("rank %d of %d is %q, after %q", i, n, r, ranks[max(i-1, 0)])
			}
		}
		if n > 0 {
			checkBetween(t, "", ranks[0])
			if next := checkBetween(t, ranks[n-1], ""); len(next) > 6 {
				t.Errorf("after %d spread ranks comes %q", n, next)
			}
		}
	}
}

func TestRanksBetweenTwoAreShortAndInOrder(t *testing.T) {
	t.Parallel()
	for _, ends := range [][2]string{{"", "8"}, {"800001", ""}, {"800001", "800002"}, {"8", "80000001"}, {"Az", "B"}} {
		for _, n := range []int{0, 1, 2, 17, 200} {
			last := ends[0]
			ranks := svc.RanksBetween(ends[0], ends[1], n)
			if len(ranks) != n {
				t.Fatalf("between %q: %d ranks, want %d", ends, len(ranks), n)
			}
			for _, r := range ranks {
				if r <= last || ends[1] != "" && r >= ends[1] || len(r) > 16 || r[len(r)-1] == '0' {
					t.Errorf("between %q of %d: %q behind %q", ends, n, r, last)
				}
				last = r
			}
		}
	}
}
