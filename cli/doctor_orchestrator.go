package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"svc"
	"svc/api"
	"svc/config"
)

// checkOrchestrator checks the orchestrator, as far as it answers.
func (a *app) checkOrchestrator(ctx context.Context, cfg *config.Config) []checkup {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	url := cfg.ServerURL()
	state, err := readiness(ctx, url)
	if err != nil {
		return []checkup{{"orchestrator", broken, url + " does not answer: " + err.Error(), "start it with svc serve or svc up, or name it with --server"}}
	}
	out := []checkup{{"orchestrator", fine, url, ""}}
	if state.trouble != nil {
		p := a.explain(state.trouble)
		out = append(out, checkup{"database", broken, p.what, cmp.Or(p.next, "check the orchestrator's log")})
	} else {
		out = append(out, checkup{"database", fine, "takes writes", ""})
	}
	for _, w := range state.warnings {
		out = append(out, checkup{"orchestrator", warning, w, "svc doctor on its machine names the line"})
	}
	out = append(out, checkVersion(ctx, url), checkClock(state.date, a.now()))
	client, err := a.client()
	if err != nil {
		return append(out, checkup{"token", warning, err.Error(), "set SVC_TOKEN, so that the doctor can check the hosts too"})
	}
	out = append(out, a.checkReplicas(ctx, client)...)
	return append(append(out, a.checkSinks(ctx, client)...), a.checkHosts(ctx, client)...)
}

// checkReplicas lists the orchestrators that share a database. It returns nothing for a single one.
func (a *app) checkReplicas(ctx context.Context, c *api.Client) (out []checkup) {
	for r, err := range c.AllReplicas(ctx) {
		if err != nil {
			p := a.explain(err)
			return append(out, checkup{"replicas", broken, p.Error(), p.next})
		}
		if r.Address == "" || r.State == svc.ReplicaGone {
			continue
		}
		role := "stands by"
		if r.Leader {
			role = "leads"
		}
		out = append(out, checkup{"replica " + r.Address, fine, fmt.Sprintf("%s, %s, svc %s, %d workers", role, r.State, r.Version, r.Uplinks), ""})
	}
	return out
}

// orchestratorState is what the orchestrator reports of itself to a client without a token.
type orchestratorState struct {
	trouble  error     // why it cannot write; nil: it can
	warnings []string  // what an operator should check
	date     time.Time // its clock; zero: the answer had no Date
}

// readiness reads the state of the orchestrator from /readyz.
func readiness(ctx context.Context, url string) (s orchestratorState, err error) {
	res, err := ask(ctx, url+"/readyz")
	if err != nil {
		return s, err
	}
	defer func() { _ = res.Body.Close() }()
	s.date, _ = http.ParseTime(res.Header.Get("Date"))
	body, _ := io.ReadAll(io.LimitReader(res.Body, 1<<20)) // on an error, the status of the answer decides
	var answer struct {
		Warnings []string `json:"warnings"`
	}
	if res.StatusCode == http.StatusOK {
		_ = json.Unmarshal(body, &answer)
		s.warnings = answer.Warnings
	} else if refusal, ours := svc.ParseError(body); ours {
		s.trouble = refusal
	} else {
		s.trouble = errors.New("the orchestrator answers " + res.Status)
	}
	return s, nil
}

// checkVersion compares the orchestrator's version with the version of this program. The orchestrator's is in the
// description of its API, which needs no token.
func checkVersion(ctx context.Context, url string) checkup {
	var description struct {
		Info struct {
			Version string `json:"version"`
		} `json:"info"`
	}
	res, err := ask(ctx, url+api.Prefix+"/openapi.json")
	if err == nil {
		defer func() { _ = res.Body.Close() }()
		err = json.NewDecoder(http.MaxBytesReader(nil, res.Body, 16<<20)).Decode(&description)
	}
	theirs := description.Info.Version
	switch {
	case err != nil || theirs == "":
		return checkup{"version", warning, "the orchestrator does not report its version", ""}
	case theirs != Version():
		return checkup{"version", warning, "the orchestrator is svc " + theirs + ", this is " + Version(), "upgrade the older one"}
	}
	return checkup{"version", fine, Version(), ""}
}

// ask sends a GET request without a token.
func ask(ctx context.Context, url string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	return http.DefaultClient.Do(req)
}

// skewLimit is the difference of clocks above which the ages that svc prints are misleading. Nothing else depends on
// clocks.
const skewLimit = 5 * time.Second

func checkClock(theirs, ours time.Time) checkup {
	if theirs.IsZero() {
		return checkup{"clock", warning, "the orchestrator does not report its time", ""}
	}
	skew := ours.Sub(theirs).Round(time.Second)
	if skew.Abs() > skewLimit {
		return checkup{"clock", warning, fmt.Sprintf("this machine is %s off the orchestrator's", skew), "set up NTP; ages on the screen are wrong until then"}
	}
	return checkup{"clock", fine, "agrees with the orchestrator's", ""}
}

func (a *app) checkHosts(ctx context.Context, c *api.Client) []checkup {
	var out []checkup
	for h, err := range c.AllHosts(ctx) {
		if err != nil {
			p := a.explain(err)
			return append(out, checkup{"hosts", broken, p.Error(), p.next})
		}
		out = append(out, a.checkHost(h))
	}
	if len(out) == 0 {
		return []checkup{{"hosts", warning, "there are none", "svc host create NAME"}}
	}
	return out
}

func clockAhead(h svc.Host) time.Duration {
	return (time.Duration(*h.ClockAheadMS) * time.Millisecond).Round(time.Second)
}

func (a *app) checkHost(h svc.Host) checkup {
	name := "host " + h.Name
	switch {
	case h.InstanceSuspect:
		return checkup{name, broken, "two workers claim to be it", suspectAdvice(h.Name)}
	case h.Status == svc.HostDisabled:
		return checkup{name, warning, "disabled", "svc host enable " + h.Name}
	case h.Status != svc.HostOnline:
		return checkup{name, warning, string(h.Status), "check the machine and its worker"}
	case !h.Connected:
		return checkup{name, warning, a.hostState(h), "start its worker, or check its network; it gets no new runs until then"}
	case h.Refusing != nil:
		return checkup{name, broken, "it cannot start runs and takes none for now: " + h.Refusing.Message, "fix that on the machine; it then tries again automatically"}
	case h.CatalogError != "":
		return checkup{name, warning, "its provider catalog has an error, and the last good one is in force: " + h.CatalogError, "correct the file on the machine; it is read again by itself"}
	case h.ClockAheadMS != nil && clockAhead(h).Abs() > skewLimit:
		return checkup{name, warning, fmt.Sprintf("its clock is %s off the orchestrator's", clockAhead(h)), "set up NTP on it; ages of what it reports are wrong until then"}
	case h.WorkerVersion != Version():
		return checkup{name, warning, "its worker is svc " + h.WorkerVersion + ", this is " + Version(), "upgrade the older one"}
	}
	runs := "runs"
	if h.ActiveRuns == 1 {
		runs = "run"
	}
	return checkup{name, fine, fmt.Sprintf("online, %d %s", h.ActiveRuns, runs), ""}
}
