package main

import (
	"cmp"
	"slices"
	"strconv"
	"time"
)

// figure formats a number with its significant digits.
func figure(v float64) string {
	switch {
	case v >= 100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case v >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	default:
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
}

// percentile returns the value below which the given share of the list lies. It sorts list in place.
func percentile[T cmp.Ordered](list []T, share float64) T {
	var none T
	if len(list) == 0 {
		return none
	}
	slices.Sort(list)
	return list[min(int(share*float64(len(list))), len(list)-1)]
}

func median[T cmp.Ordered](list []T) T { return percentile(list, 0.5) }

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
