package server

import "testing"

// A create returns the Location of the record, and a delete returns no content.
func TestCreatesTellWhereAndDeletesTellNothing(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	record := map[string]bool{"/projects/{id}": true} // it is archived, and stays
	for path, item := range g.OpenAPI().Paths {
		if op := item.Post; op != nil && op.Responses["201"] != nil && op.Responses["201"].Headers["Location"] == nil {
			t.Errorf("POST %s makes something and has no Location", path)
		}
		if op := item.Delete; op != nil && !record[path] && op.Responses["204"] == nil {
			t.Errorf("DELETE %s does not answer 204", path)
		}
	}
}
