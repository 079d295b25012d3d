package server

import (
	"net/http"
	"testing"
)

// Every path accepts a work item's short name in place of its id.
func TestAWorkItemIsFoundByItsShortName(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	project := g.want(http.StatusCreated, "POST", "/api/v1/projects", map[string]any{"name": "Checkout"}).JSON["id"]
	item := g.want(http.StatusCreated, "POST", "/api/v1/work-items", map[string]any{"project_id": project, "kind": "task", "title": "Pay"}).JSON
	if item["number"] != 1.0 || item["project_slug"] != "checkout" {
		t.Fatalf("the item is %v", item)
	}
	for _, ref := range []string{"CHECKOUT-1", "checkout-1"} {
		if got := g.want(http.StatusOK, "GET", "/api/v1/work-items/"+ref, nil).JSON["id"]; got != item["id"] {
			t.Errorf("%s is item %v, want %v", ref, got, item["id"])
		}
	}
	if got := g.want(http.StatusOK, "PATCH", "/api/v1/work-items/CHECKOUT-1", map[string]any{"title": "Pay now"}).JSON["title"]; got != "Pay now" {
		t.Errorf("the title is %v", got)
	}
	for _, ref := range []string{"CHECKOUT-2", "CHECKOUT-01", "NOWHERE-1", "CHECKOUT"} {
		g.refuse(http.StatusNotFound, "not_found", "GET", "/api/v1/work-items/"+ref, nil)
	}
	g.want(http.StatusNoContent, "DELETE", "/api/v1/work-items/CHECKOUT-1", nil)
	g.refuse(http.StatusNotFound, "not_found", "GET", "/api/v1/work-items/CHECKOUT-1", nil)
}
