package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"svc"
)

// RunOpen reports whether a run is active or its session may be alive. It is
// false if there is no such run.
func (r Reader) RunOpen(ctx context.Context, id string) (bool, error) {
	var run svc.Run
	err := r.q.QueryRowContext(ctx, "SELECT status, host_id, session_ended_at FROM runs WHERE id = $1", id).Scan(&run.Status, &run.HostID, &run.SessionEndedAt)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("read whether a run is open: %w", err)
	}
	return run.Status.Active() || run.SessionOpen(), nil
}

// UnconfirmedHosts returns, by host, how many dispatches the host has not
// confirmed. Hosts without such dispatches are left out.
func (r Reader) UnconfirmedHosts(ctx context.Context) (map[string]int, error) {
	type host struct {
		id string
		n  int
	}
	found, err := collect(ctx, r.q, func(row scanner) (h host, err error) { return h, row.Scan(&h.id, &h.n) },
		"SELECT host_id, count(*) FROM runs WHERE "+isUnconfirmed+" GROUP BY host_id")
	if err != nil {
		return nil, fmt.Errorf("count unconfirmed dispatches: %w", err)
	}
	counts := make(map[string]int, len(found))
	for _, h := range found {
		counts[h.id] = h.n
	}
	return counts, nil
}

// Incarnation is one attempt of a run, and the run's status.
type Incarnation struct {
	RunID   string
	Attempt int
	Status  svc.RunStatus
}

// UnconfirmedRuns returns, by host, the dispatches that the host has not
// confirmed, oldest first.
func (r Reader) UnconfirmedRuns(ctx context.Context, hostIDs []string) (map[string][]Incarnation, error) {
	found, err := r.incarnations(ctx, hostIDs, isUnconfirmed+" AND host_id IN (%s) ORDER BY dispatched_at, id")
	if err != nil {
		return nil, fmt.Errorf("find unconfirmed dispatches: %w", err)
	}
	return found, nil
}

// EndingRuns returns, by host, the runs that have ended although their sessions
// may be alive, in the order of their creation.
func (r Reader) EndingRuns(ctx context.Context, hostIDs []string) (map[string][]Incarnation, error) {
	found, err := r.incarnations(ctx, hostIDs, openOn+" IN (%s) AND status IN ('exited', 'failed', 'stopped') ORDER BY created_at + 0, id") // + 0: not by the index of all runs
	if err != nil {
		return nil, fmt.Errorf("find sessions to end: %w", err)
	}
	return found, nil
}

// incarnations returns, by host, the runs that meet a condition. %s in the
// condition is the list of the hosts.
func (r Reader) incarnations(ctx context.Context, hostIDs []string, which string) (map[string][]Incarnation, error) {
	found := map[string][]Incarnation{}
	for ids := range slices.Chunk(hostIDs, mostRows) {
		in, args := oneOf(ids)
		_, err := collect(ctx, r.q, func(row scanner) (host string, err error) {
			var i Incarnation
			err = row.Scan(&host, &i.RunID, &i.Attempt, &i.Status)
			found[host] = append(found[host], i)
			return host, err
		}, "SELECT host_id, id, attempt, status FROM runs WHERE "+fmt.Sprintf(which, in), args...)
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}
