package engine

import (
	"testing"
	"testing/synctest"
	"time"
)

// An inventory of more sessions than the bucket has tokens would wait forever, and its connection with it.
func TestAFrameThatIsWorthMoreThanABucketWaitsForAFullOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, endless := newPace(10, 100), newPaces().endless
		for i, want := range []time.Duration{0, 10 * time.Second} {
			began := time.Now()
			if err := p.waitFor(t.Context(), "host", 5000, endless); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(began); took != want {
				t.Errorf("frame %d waited %s, want %s", i, took, want)
			}
		}
	})
}
