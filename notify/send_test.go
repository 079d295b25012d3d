package notify

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"svc"
)

// serveSink starts an HTTP server. last returns its requests, one with each call.
func serveSink(t *testing.T, answer http.HandlerFunc) (url string, last func() (*http.Request, string)) {
	t.Helper()
	type request struct {
		*http.Request
		body string
	}
	got := make(chan request, 10)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		got <- request{r, string(b)}
		answer(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL, func() (*http.Request, string) {
		t.Helper()
		select {
		case r := <-got:
			return r.Request, r.body
		default:
			t.Fatal("nothing was sent")
			return nil, ""
		}
	}
}

func accept(http.ResponseWriter, *http.Request) {}

// client returns a client that does not keep connections, so that no goroutine is left after a test.
func client() *http.Client {
	return newClient(&http.Transport{DisableKeepAlives: true})
}

var asked = message{ID: "n1", Kind: "needs_input", Key: "k", Title: "Größe <b>", Text: "needs input: a & b?", URL: "https://svc.example/runs/1"}

func TestEachKindOfSinkIsSentItsOwnForm(t *testing.T) {
	t.Parallel()
	url, last := serveSink(t, accept)
	tell := func(s svc.Sink) (*http.Request, string) {
		t.Helper()
		if err := send(t.Context(), client(), s, asked); err != nil {
			t.Fatal(err)
		}
		r, body := last()
		if r.Method != http.MethodPost || r.Header.Get("Svc-Notification-Id") != "n1" {
			t.Errorf("%s: %s with the id %q", s.Kind, r.Method, r.Header.Get("Svc-Notification-Id"))
		}
		return r, body
	}
	r, body := tell(svc.Sink{Kind: svc.SinkWebhook, URL: url, Secret: "shared"})
	mac := hmac.New(sha256.New, []byte("shared"))
	mac.Write([]byte(body))
	if got, want := r.Header.Get("Svc-Signature"), "sha256="+hex.EncodeToString(mac.Sum(nil)); got != want {
		t.Errorf("the signature is %q, want %q", got, want)
	}
	if r, _ := tell(svc.Sink{Kind: svc.SinkWebhook, URL: url}); r.Header.Get("Svc-Signature") != "" {
		t.Error("there is a signature without a secret")
	}
	r, body = tell(svc.Sink{Kind: svc.SinkNtfy, URL: url + "/topic", Secret: "tk_1"})
	title, err := new(mime.WordDecoder).DecodeHeader(r.Header.Get("Title"))
	if err != nil || title != asked.Title || body != asked.Text || r.Header.Get("Click") != asked.URL || r.Header.Get("Authorization") != "Bearer tk_1" || r.URL.Path != "/topic" {
		t.Errorf("ntfy was sent %q with %v", body, r.Header)
	}
	_, body = tell(svc.Sink{Kind: svc.SinkSlack, URL: url})
	if !strings.Contains(body, `Größe \u0026lt;b\u0026gt;`) || !strings.Contains(body, "a \\u0026amp; b") || strings.Contains(body, "<b>") {
		t.Errorf("slack was sent %s", body)
	}
}

// A message of a person to an agent is a prompt: it must not be sent to other services.
func TestAMessageToAnAgentIsNotSentElsewhere(t *testing.T) {
	t.Parallel()
	cause := svc.InboxCause{InboxItem: svc.InboxItem{Kind: svc.InboxUnconfirmed}, Subject: "Paint the shed", Message: "the code of the safe is 1234"}
	item := cause.Item()
	if !strings.Contains(item.Text, "1234") {
		t.Errorf("people do not see which message it is: %q", item.Text)
	}
	for _, sent := range []message{ofEntry("n1", "", item), ofDigest("n2", "", []svc.InboxItem{item, item})} {
		if strings.Contains(sent.Text, "1234") || !strings.Contains(sent.Text, "a message may not have arrived") {
			t.Errorf("sent is %q", sent.Text)
		}
	}
}

// An ntfy server refuses a longer body, or stores it as an attachment: a digest of long titles would be lost.
func TestNtfyIsSentNoMoreThanItTakes(t *testing.T) {
	t.Parallel()
	url, last := serveSink(t, accept)
	long := asked
	long.Text = "x" + strings.Repeat("ж", 3000)
	if err := send(t.Context(), client(), svc.Sink{Kind: svc.SinkNtfy, URL: url}, long); err != nil {
		t.Fatal(err)
	}
	if _, body := last(); len(body) > 4096 || len(body) < 4090 || !utf8.ValidString(body) || !strings.HasSuffix(body, "ж…") {
		t.Errorf("%d bytes were sent, which end with %q", len(body), body[max(0, len(body)-10):])
	}
}

func TestASinkThatDoesNotAnswerIsToldAsSuch(t *testing.T) {
	t.Parallel()
	hang := make(chan struct{})
	url, _ := serveSink(t, func(http.ResponseWriter, *http.Request) { <-hang })
	t.Cleanup(func() { close(hang) }) // before the server is closed
	c := client()
	c.Timeout = 50 * time.Millisecond
	err := send(t.Context(), c, svc.Sink{Kind: svc.SinkWebhook, URL: url}, asked)
	if want := "it did not answer within 50ms"; err == nil || err.Error() != want {
		t.Errorf("a slow sink is told as %v, want %q", err, want)
	}
}

func TestARedirectIsNotFollowed(t *testing.T) {
	t.Parallel()
	elsewhere, _ := serveSink(t, func(http.ResponseWriter, *http.Request) { t.Error("a redirect was followed") })
	url, _ := serveSink(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, elsewhere, http.StatusTemporaryRedirect)
	})
	err := send(t.Context(), client(), svc.Sink{Kind: svc.SinkWebhook, URL: url, Secret: "shared"}, asked)
	if never := (refusal{}); err == nil || errors.As(err, &never) || !strings.Contains(err.Error(), "redirects are not followed") {
		t.Errorf("a redirect is told as %v", err)
	}
}

func TestWhatCannotBeReachedIsToldWithoutItsAddress(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(accept))
	s.Close()
	err := send(t.Context(), client(), svc.Sink{Kind: svc.SinkSlack, URL: s.URL + "/services/hidden"}, asked)
	if err == nil || strings.Contains(err.Error(), "hidden") {
		t.Errorf("a closed port is told as %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := send(ctx, client(), svc.Sink{Kind: svc.SinkSlack, URL: s.URL + "/services/hidden"}, asked); err == nil || strings.Contains(err.Error(), "hidden") {
		t.Errorf("a cancelled try is told as %v", err)
	}
}

func TestWhatGoesNextOfWhatIsDue(t *testing.T) {
	t.Parallel()
	fresh := func(n int) (list []svc.Notification) {
		for range n {
			list = append(list, svc.Notification{ID: svc.NewID(), Key: "k"})
		}
		return list
	}
	digest := svc.Notification{ID: "d", Key: "d"}
	tried := svc.Notification{ID: "t", Key: "k", Tries: 1}
	for name, c := range map[string]struct {
		due, sent []svc.Notification
		want      int
		digest    bool
	}{
		"nothing":                             {nil, nil, 0, false},
		"one":                                 {fresh(1), nil, 1, false},
		"five, one by one":                    {fresh(5), nil, 1, false},
		"six at once":                         {fresh(6), nil, 6, true},
		"two beyond the fifth":                {fresh(2), fresh(5), 2, true},
		"one beyond the fifth":                {fresh(1), fresh(5), 1, false},
		"another one waits for the window":    {fresh(1), fresh(6), 0, false},
		"more wait after a digest":            {fresh(6), []svc.Notification{digest}, 0, false},
		"few need not wait after a digest":    {fresh(2), []svc.Notification{digest}, 1, false},
		"what was tried goes again by itself": {append([]svc.Notification{tried}, fresh(9)...), nil, 1, false},
	} {
		next, isDigest := choose(c.due, c.sent)
		if len(next) != c.want || isDigest != c.digest {
			t.Errorf("%s: %d, as a digest: %v; want %d, %v", name, len(next), isDigest, c.want, c.digest)
		}
	}
}
