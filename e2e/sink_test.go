package e2e

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"

	"github.com/rogpeppe/go-internal/testscript"
)

// sink starts a web server that receives notifications, and stores its address in a variable. It writes each
// notification as a line to the file of the same name. It refuses requests on the path /refuse.
//
//	sink NAME
func sink(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: sink NAME")
	}
	file, err := os.OpenFile(ts.MkAbs(args[0]), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	ts.Check(err)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/refuse" {
			http.Error(w, "no", http.StatusForbidden)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err == nil {
			_, err = file.Write(append([]byte(r.Header.Get("Title")+" "+r.Header.Get("Svc-Signature")+" "), append(body, '\n')...))
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	}))
	ts.Setenv(args[0], server.URL)
	ts.Defer(func() {
		server.Close()
		_ = file.Close()
	})
}
