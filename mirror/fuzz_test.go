package mirror

import (
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
)

// FuzzFileQuery parses arbitrary queries of another orchestrator. An accepted query has a path inside of the folder
// and a valid range of bytes.
func FuzzFileQuery(f *testing.F) {
	for _, seed := range []string{"", "path=a&from=1&check=1&sum=x", "path=../x", "path=a/b&limit=99999999999999999999", "path=a&from=-1", "path=a%00", "path=.a", "path=a//b", "path=a&from=9&check=10"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, query string) {
		v, err := url.ParseQuery(query)
		if err != nil {
			return
		}
		q, err := parseFileQuery(v)
		if err != nil {
			if len(err.Error()) > 1000 {
				t.Fatalf("%q is refused with %d bytes", query, len(err.Error()))
			}
			return
		}
		if !filepath.IsLocal(q.path) || strings.ContainsAny(q.path, "\\\x00\n") || q.from < 0 || q.limit < 0 || q.limit > mostSlice || q.check < 0 || q.check > q.from {
			t.Fatalf("%q is taken as %+v", query, q)
		}
	})
}

// FuzzAnswer parses arbitrary headers of a leader's answer. An accepted size is not negative.
func FuzzAnswer(f *testing.F) {
	f.Add("1", "2", "f")
	f.Add("-1", "x", "")
	f.Add("99999999999999999999", "0", "f")
	f.Fuzz(func(t *testing.T, size, mtime, file string) {
		h := http.Header{}
		h.Set(headerSize, size)
		h.Set(headerMtime, mtime)
		h.Set(headerFile, file)
		var a answer
		if a.parse(h) == nil && a.size < 0 {
			t.Fatalf("a size of %d", a.size)
		}
	})
}
