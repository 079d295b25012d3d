package svc_test

import (
	"testing"

	"svc"
)

func TestAnItemsShortNameIsTakenApart(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		ref, slug string
		number    int64
	}{
		{"CHECKOUT-12", "checkout", 12}, {"checkout-12", "checkout", 12}, {"first-project-2-7", "first-project-2", 7},
		{"CHECKOUT", "", 0}, {"CHECKOUT-", "", 0}, {"CHECKOUT-0", "", 0}, {"CHECKOUT-012", "", 0}, {"CHECKOUT-+1", "", 0},
		{"-12", "", 0}, {"A B-1", "", 0}, {"12", "", 0}, {"", "", 0}, {"CHECKOUT-99999999999999999999", "", 0},
	} {
		slug, number, ok := svc.ParseItemRef(c.ref)
		if ok != (c.number > 0) || ok && (slug != c.slug || number != c.number) {
			t.Errorf("%q is %q and %d (%v), want %q and %d", c.ref, slug, number, ok, c.slug, c.number)
		}
	}
	if got := svc.ItemRef("first-project", 3); got != "FIRST-PROJECT-3" {
		t.Errorf("the short name is %s", got)
	}
}
