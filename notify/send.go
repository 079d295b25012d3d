package notify

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"svc"
)

// message is what is sent to a sink. A webhook receives it as JSON.
type message struct {
	ID      string   `json:"id"`
	Kind    string   `json:"kind"` // of the entry, digest, or test
	Key     string   `json:"key"`
	Title   string   `json:"title"`
	Text    string   `json:"text"`
	URL     string   `json:"url"`
	Project string   `json:"project"`
	TaskID  *string  `json:"task_id"`
	RunID   *string  `json:"run_id"`
	HostID  *string  `json:"host_id"`
	Since   svc.Time `json:"since"`
}

// The kinds of messages that are not about a single entry.
const (
	kindDigest = "digest"
	kindTest   = "test"
)

// ofEntry returns the message of one entry.
func ofEntry(id, base string, i svc.InboxItem) message {
	m := message{ID: id, Kind: string(i.Kind), Key: i.Key, Title: i.Title, Text: i.Notice(), URL: base + "/", Project: i.ProjectSlug,
		TaskID: i.TaskID, RunID: i.RunID, HostID: i.HostID, Since: i.Since}
	switch {
	case i.RunID != nil:
		m.URL = base + "/runs/" + *i.RunID
	case i.HostID != nil:
		m.URL = base + "/hosts/" + *i.HostID
	}
	return m
}

// ofDigest returns the message of several entries: their number, and the first titles.
func ofDigest(id, base string, items []svc.InboxItem) message {
	m := message{ID: id, Kind: kindDigest, Key: id, Title: fmt.Sprintf("%d entries need you", len(items)), URL: base + "/", Since: items[0].Since}
	if len(items) == 1 {
		m.Title = "1 entry needs you"
	}
	lines := make([]string, 0, digestTitles)
	for _, i := range items[:min(len(items), digestTitles)] {
		lines = append(lines, i.Title+": "+i.Notice())
	}
	m.Text = strings.Join(lines, "\n")
	return m
}

// secrets matches svc's tokens and similar strings: the text of an agent may have one.
var secrets = regexp.MustCompile(`\bsvc[a-z]_[0-9A-Za-z_-]+|\b[0-9a-fA-F]{32,}\b`)

func redact(text string) string { return secrets.ReplaceAllString(text, "[secret]") }

// sendTimeout is the timeout of one message.
const sendTimeout = 10 * time.Second

// newClient returns a client that never follows a redirect: else the secret, or a URL that is a secret, could be sent
// to another server.
func newClient(transport http.RoundTripper) *http.Client {
	return &http.Client{Transport: transport, Timeout: sendTimeout, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// refusal is an answer after which the message is not retried.
type refusal struct{ status string }

func (r refusal) Error() string { return "it answered " + r.status }

// send sends a message to a sink. Its errors never have the sink's URL, which may be a secret.
func send(ctx context.Context, c *http.Client, s svc.Sink, m message) error {
	m.Title, m.Text = redact(m.Title), redact(m.Text)
	req, err := request(ctx, s, m)
	if err != nil {
		return err
	}
	req.Header.Set("Svc-Notification-Id", m.ID)
	req.Header.Set("User-Agent", "svc")
	res, err := c.Do(req)
	if err != nil {
		var wrapped *url.Error
		if errors.As(err, &wrapped) {
			if wrapped.Timeout() && ctx.Err() == nil {
				return fmt.Errorf("it did not answer within %s", c.Timeout)
			}
			err = wrapped.Err // without the URL
		}
		return fmt.Errorf("it could not be reached: %w", err)
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, 64<<10)) // so that the connection can be used again
	return checkResponse(res)
}

// retryLater is a failure after which the sink may be tried again, after the wait that its Retry-After header
// demands; 0: none.
type retryLater struct {
	error
	wait time.Duration
}

// mostRetryAfter is the longest wait that a Retry-After header can demand.
const mostRetryAfter = time.Hour

// retryWait returns the wait that the sink has demanded with a failure; 0: none.
func retryWait(failure error) time.Duration {
	var l retryLater
	if errors.As(failure, &l) {
		return min(l.wait, mostRetryAfter)
	}
	return 0
}

// retryAfter returns the wait of the Retry-After header, which has seconds or a date; 0: the header is missing or
// invalid.
func retryAfter(header http.Header) time.Duration {
	text := header.Get("Retry-After")
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if date, err := http.ParseTime(text); err == nil {
		return max(time.Until(date), 0)
	}
	return 0
}

func checkResponse(res *http.Response) error {
	err := statusError(res)
	var never refusal
	if err == nil || errors.As(err, &never) {
		return err
	}
	return retryLater{err, retryAfter(res.Header)}
}

func statusError(res *http.Response) error {
	switch status := res.StatusCode; {
	case status >= 200 && status < 300:
		return nil
	case status >= 300 && status < 400:
		return fmt.Errorf("it answered %s; redirects are not followed, so its url must be the final address", res.Status)
	case status >= 400 && status < 500 && status != http.StatusRequestTimeout && status != http.StatusTooManyRequests:
		return refusal{res.Status}
	default:
		return fmt.Errorf("it answered %s", res.Status)
	}
}

// request returns the request that sends a message in the format of the sink's kind.
func request(ctx context.Context, s svc.Sink, m message) (*http.Request, error) {
	switch s.Kind {
	case svc.SinkNtfy:
		return ntfyRequest(ctx, s, m)
	case svc.SinkSlack:
		text := fmt.Sprintf("*%s*\n%s\n<%s|open>", slackText(m.Title), slackText(m.Text), m.URL)
		return jsonRequest(ctx, s.URL, map[string]string{"text": text}, "")
	default:
		return jsonRequest(ctx, s.URL, m, s.Secret)
	}
}

func jsonRequest(ctx context.Context, to string, body any, secret string) (*http.Request, error) {
	b, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("encode a notification: %w", err)
	}
	req, err := post(ctx, to, b)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	if secret != "" {
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write(b)
		req.Header.Set("Svc-Signature", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	}
	return req, nil
}

// ntfyMost is how many bytes of text an ntfy server accepts in a message. It refuses a longer text, or stores it as
// an attachment.
const ntfyMost = 4096

// ntfyRequest returns the request that publishes to a topic: the text is the body, the rest are headers.
func ntfyRequest(ctx context.Context, s svc.Sink, m message) (*http.Request, error) {
	req, err := post(ctx, s.URL, []byte(shortened(m.Text, ntfyMost)))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Title", mime.QEncoding.Encode("utf-8", m.Title))
	req.Header.Set("Click", m.URL)
	if m.Kind == string(svc.InboxNeedsInput) {
		req.Header.Set("Priority", "high")
	}
	if s.Secret != "" {
		req.Header.Set("Authorization", "Bearer "+s.Secret)
	}
	return req, nil
}

// shortened cuts a text to at most so many bytes of valid UTF-8.
func shortened(text string, most int) string {
	if len(text) <= most {
		return text
	}
	const more = "…"
	return strings.ToValidUTF8(text[:most-len(more)], "") + more
}

func post(ctx context.Context, to string, body []byte) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to, bytes.NewReader(body))
	if err != nil {
		return nil, errors.New("its url is not valid")
	}
	return req, nil
}

// slackText escapes the characters that Slack interprets as markup.
func slackText(text string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text)
}
