package engine

import (
	"slices"
	"strings"
	"testing"

	"svc"
)

// Repeated moves into the same gap make ranks long; then the items around it get short ones. A client that follows
// the journal has the same order as the server at every moment.
func TestManyMovesIntoOneGapKeepTheOrder(t *testing.T) {
	bubble(t, func(s *site) {
		p := s.project()
		var order []string
		for range 4 {
			order = append(order, s.task(p).ID)
		}
		spread := false
		shown := map[string]string{} // the positions that a client has from the journal alone
		follow := func() {
			for _, e := range s.news() {
				if position, ok := field(e, "position").(string); ok {
					shown[field(e, "task_id").(string)] = position
				}
			}
		}
		for i := range 500 {
			last := order[3]
			var patch svc.WorkItemPatch
			if i%2 == 0 { // to the second place, from either side of the gap
				patch.After = &order[0]
			} else {
				patch.Before = &order[1]
			}
			follow()
			w, err := s.UpdateWorkItem(s.ctx, last, patch, nil)
			s.no(err)
			follow()
			if len(w.Position) > svc.MaxRank {
				t.Fatalf("move %d gave the rank %q", i, w.Position)
			}
			order = []string{order[0], last, order[1], order[2]}
			if i > 100 && len(w.Position) < 10 {
				spread = true
			}
			list, err := s.WorkItems(s.ctx, svc.WorkItemFilter{ProjectID: p.ID}, svc.Page{Limit: 10})
			s.no(err)
			var got []string
			for _, item := range list.Items {
				got = append(got, item.ID)
			}
			if !slices.Equal(got, order) {
				t.Fatalf("after move %d the order is %v, want %v", i, got, order)
			}
			slices.SortFunc(got, func(a, b string) int { return strings.Compare(shown[a], shown[b]) })
			if !slices.Equal(got, order) {
				t.Fatalf("after move %d a client that follows the journal shows %v, want %v", i, got, order)
			}
		}
		if !spread {
			t.Error("the ranks were never spread anew; the test no longer reaches what it is about")
		}
	})
}

func TestNamedNeighboursMustStandInTheirOrder(t *testing.T) {
	bubble(t, func(s *site) {
		p := s.project()
		a, b, c := s.task(p), s.task(p), s.task(p)
		other := s.task(s.project())
		for what, patch := range map[string]svc.WorkItemPatch{
			"the wrong way round": {After: &b.ID, Before: &a.ID},
			"another project":     {After: &other.ID, Before: &b.ID},
			"an unknown one":      {After: ptr(svc.NewID()), Before: &b.ID},
		} {
			_, err := s.UpdateWorkItem(s.ctx, c.ID, patch, nil)
			s.wantCode(what, err, svc.CodeValidation)
		}
		got := s.patch(c, svc.WorkItemPatch{After: &a.ID, Before: &b.ID})
		if got.Position <= a.Position || got.Position >= b.Position {
			t.Errorf("between %q and %q: %q", a.Position, b.Position, got.Position)
		}
	})
}
