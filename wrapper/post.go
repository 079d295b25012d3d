package wrapper

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"svc"
	"svc/rundir"
	"svc/wire"
)

// postTimeout bounds one attempt to deliver, since the agent waits for its hook.
const postTimeout = 4 * time.Second

// errRefused means that the orchestrator will never accept this signal, however often it is sent.
var errRefused = errors.New("refused")

// poster delivers signals of one run to the orchestrator.
type poster struct {
	dir    rundir.Dir
	apiURL string
	token  string // empty: nothing can be posted
	client *http.Client
}

func newPoster(dir rundir.Dir, apiURL, token string) *poster {
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true}
	return &poster{
		dir: dir, apiURL: strings.TrimRight(apiURL, "/"), token: token,
		client: &http.Client{Transport: transport, Timeout: postTimeout},
	}
}

// deliver posts one entry and removes it from the spool when the orchestrator has accepted it. An entry that is
// refused for good is set aside: sending it again cannot help.
func (p *poster) deliver(ctx context.Context, e rundir.Entry) error {
	err := p.post(ctx, e)
	switch {
	case err == nil:
		return p.dir.Done(e)
	case errors.Is(err, errRefused):
		return errors.Join(err, p.dir.Reject(e))
	default:
		return err
	}
}

// flush posts the waiting signals of one attempt for which pass returns true, in order, until a post fails
// temporarily.
func (p *poster) flush(ctx context.Context, a rundir.Attempt, pass func(rundir.Entry) bool) error {
	entries, _, err := a.Pending()
	if err != nil {
		return err
	}
	var refused error
	for _, e := range entries {
		if !pass(e) {
			continue
		}
		err := p.deliver(ctx, e)
		if err != nil && !errors.Is(err, errRefused) {
			return errors.Join(refused, err)
		}
		refused = errors.Join(refused, err)
	}
	return refused
}

// all is a filter for flush that passes every entry.
func all(rundir.Entry) bool { return true }

// fromHooks is a filter for flush that passes only the signals of hooks. It leaves the start and the end to the
// worker, which holds them back until they are true for every reader.
func fromHooks(e rundir.Entry) bool { return e.Frame.Source == svc.FromHook }

func (p *poster) post(ctx context.Context, e rundir.Entry) error {
	if p.token == "" || p.apiURL == "" {
		return errors.New("post signal: the session has no API URL or no token to post with")
	}
	body, err := json.Marshal(e.Frame.Signal)
	if err != nil {
		return fmt.Errorf("post signal: %w", err)
	}
	url := p.apiURL + "/api/internal/runs/" + e.RunID() + "/signals"
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("post signal: %w", err)
	}
	req.Header.Set("Authorization", "Bearer "+p.token)
	req.Header.Set("Content-Type", "application/json")
	res, err := p.client.Do(req)
	if err != nil {
		return fmt.Errorf("post signal: %w", err)
	}
	defer res.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(res.Body, 4096))
	if res.StatusCode == http.StatusOK {
		return nil
	}
	said, ours := wire.RefusalOf(text)
	switch {
	case ours && res.StatusCode < 500 && said.ForGood():
		return fmt.Errorf("post %s signal: %w: %s (%s)", e.Kind(), errRefused, said.Message, said.Code)
	case ours:
		return fmt.Errorf("post %s signal: %s (%s)", e.Kind(), said.Message, said.Code)
	default: // a proxy answered: the orchestrator may not have got the signal
		return fmt.Errorf("post %s signal: the answer was %s", e.Kind(), res.Status)
	}
}
