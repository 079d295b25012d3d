package review

import "testing"

func TestThePromptOfCommentsIsAlwaysTheSame(t *testing.T) {
	t.Parallel()
	remarks := []Remark{
		{ID: "11111111-1111-1111-1111-111111111111", Path: "a.go", First: 3, Last: 3, Quote: "\treturn nil", Body: "Return the \x1b error.", Revision: 4},
		{ID: "22222222-2222-2222-2222-222222222222", Path: "b.go", Old: true, First: 7, Last: 8, Quote: "one\r\n\ntwo", Body: "Why did this go?\n\nIt is needed. ", Revision: 4},
		{ID: "33333333-3333-3333-3333-333333333333", Path: "\"new\\nline\"", Body: "Another name, please.", Revision: 5},
	}
	want := `Please look at these.

Review comments on your changes:

1. a.go, line 3 (checkpoint 4)
   > 	return nil
   Return the � error.
   When done: svc exec comment handled 11111111-1111-1111-1111-111111111111 --note "what you did"

2. b.go, lines 7 to 8 of the old version (checkpoint 4)
   > one
   >
   > two
   Why did this go?

   It is needed.
   When done: svc exec comment handled 22222222-2222-2222-2222-222222222222 --note "what you did"

3. "new\nline" (checkpoint 5)
   Another name, please.
   When done: svc exec comment handled 33333333-3333-3333-3333-333333333333 --note "what you did"
`
	if got := Prompt(" Please look at these.\n", remarks); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := Prompt("only this", nil); got != "only this\n" {
		t.Errorf("got %q", got)
	}
}
