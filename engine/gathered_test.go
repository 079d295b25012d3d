package engine

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
)

func TestQuestionsAskedDuringAReadShareTheNextOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var reads [][]string
		proceed := make(chan error)
		g := &gathered[string]{read: func(_ context.Context, ids []string) (map[string]string, error) {
			slices.Sort(ids)
			reads = append(reads, ids)
			err := <-proceed
			return map[string]string{"a": "A", "b": "B"}, err
		}}
		var asking sync.WaitGroup
		ask := func(id, want string, exists, fails bool) {
			asking.Go(func() {
				got, found, err := g.ask(t.Context(), id)
				if got != want || found != exists || (err != nil) != fails {
					t.Errorf("%s is %q (%v, %v), want %q (%v)", id, got, found, err, want, exists)
				}
			})
			synctest.Wait()
		}
		ask("a", "A", true, false)
		ask("b", "B", true, true)
		ask("a", "A", true, true)
		ask("c", "", false, true)
		gone, leave := context.WithCancel(t.Context())
		leave()
		if _, _, err := g.ask(gone, "d"); !errors.Is(err, context.Canceled) {
			t.Errorf("one that does not wait gets %v", err)
		}
		proceed <- nil
		proceed <- errors.New("the read failed")
		asking.Wait()
		ask("c", "", false, false)
		proceed <- nil
		asking.Wait()
		if want := [][]string{{"a"}, {"a", "b", "c", "d"}, {"c"}}; !slices.EqualFunc(reads, want, slices.Equal) {
			t.Errorf("reads %q, want %q", reads, want)
		}
	})
}
