package wrapper

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"

	"svc"
	"svc/wire"
)

const commentUsage = `usage: svc exec comment handled ID [--note TEXT]
`

// Comment is "svc exec comment": an agent reports that it has handled a comment that was sent to it. The exit
// code is 0 when the orchestrator has accepted the report, otherwise 1 with the reason on one line of stderr;
// the report can be repeated.
func Comment(args []string, std IO) int {
	id, note, err := parseComment(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(std.Stderr, commentUsage)
		return 0
	}
	if err != nil {
		fmt.Fprintf(std.Stderr, "svc exec comment: %v\n%s", err, commentUsage)
		return exitHook
	}
	sess, err := sessionOf(std)
	if err == nil {
		ctx, cancel := context.WithTimeout(context.Background(), postTimeout)
		defer cancel()
		err = sess.poster.handled(ctx, sess.attempt.RunID, id, note)
	}
	if err != nil {
		fmt.Fprintf(std.Stderr, "svc exec comment: %v\n", err)
		return exitHook
	}
	fmt.Fprintf(std.Stdout, "comment %s is marked as handled\n", id)
	return 0
}

func parseComment(args []string) (id, note string, err error) {
	if len(args) == 1 && (args[0] == "-h" || args[0] == "--help") {
		return "", "", flag.ErrHelp
	}
	if len(args) < 2 || args[0] != "handled" {
		return "", "", errors.New("give handled and the id of a comment")
	}
	if id = args[1]; !svc.IsID(id) {
		return "", "", fmt.Errorf("%q is not the id of a comment", id)
	}
	flags := flag.NewFlagSet("comment", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&note, "note", "", "")
	if err := flags.Parse(args[2:]); err != nil {
		return "", "", err
	}
	if flags.NArg() > 0 {
		return "", "", fmt.Errorf("%q is one argument too many", flags.Arg(0))
	}
	return id, note, nil
}

// handled reports to the orchestrator that the agent of a run has handled a comment.
func (p *poster) handled(ctx context.Context, runID, id, note string) error {
	if p.token == "" || p.apiURL == "" {
		return errors.New("the session has no API URL or no token to post with")
	}
	body, err := json.Marshal(map[string]string{"note": note})
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.apiURL+"/api/internal/runs/"+runID+"/comments/"+id+"/handled", bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+p.token)
	req.Header.Set("Content-Type", "application/json")
	res, err := p.client.Do(req)
	if err != nil {
		return fmt.Errorf("the orchestrator did not answer; try again: %w", err)
	}
	defer res.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(res.Body, 4096))
	if res.StatusCode == http.StatusOK {
		return nil
	}
	if said, ours := wire.RefusalOf(text); ours {
		return fmt.Errorf("%s (%s)", said.Message, said.Code)
	}
	return fmt.Errorf("the answer was %s", res.Status)
}
