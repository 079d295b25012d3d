package store

import (
	"context"
	"fmt"
	"strings"
)

// UnconfirmedRestarts returns the ids of at most limit runs of these hosts that
// the host has not confirmed and whose restart policy allows another attempt.
func (r Reader) UnconfirmedRestarts(ctx context.Context, hostIDs []string, limit int) ([]string, error) {
	return r.runIDs(ctx, hostIDs, limit, `status = 'spawning' AND acked = FALSE AND restart_policy <> 'never' AND attempt <= max_restarts`)
}

// ActiveRunsOf returns the ids of at most limit active runs of these hosts.
func (r Reader) ActiveRunsOf(ctx context.Context, hostIDs []string, limit int) ([]string, error) {
	return r.runIDs(ctx, hostIDs, limit, `status IN ('spawning', 'running')`)
}

// OpenRunIDs returns the ids of at most limit runs of these hosts whose session
// may be alive.
func (r Reader) OpenRunIDs(ctx context.Context, hostIDs []string, limit int) ([]string, error) {
	return r.runIDs(ctx, hostIDs, limit, `status <> 'pending'`)
}

// runIDs returns open runs of hosts that meet a condition.
func (r Reader) runIDs(ctx context.Context, hostIDs []string, limit int, which string) ([]string, error) {
	in, args := oneOf(hostIDs)
	args = append(args, limit)
	ids, err := collect(ctx, r.q, func(row scanner) (id string, err error) { return id, row.Scan(&id) },
		fmt.Sprintf("SELECT id FROM runs WHERE "+openOn+" IN (%s) AND %s LIMIT CAST($%d AS BIGINT)", in, which, len(args)), args...)
	if err != nil {
		return nil, fmt.Errorf("find runs of hosts: %w", err)
	}
	return ids, nil
}

// oneOf returns the parameters of an IN list, for at least one and at most
// mostRows values, and its arguments.
func oneOf(values []string) (in string, args []any) {
	marks := make([]string, rowsFor(len(values)))
	for i := range marks {
		marks[i] = fmt.Sprintf("$%d", i+1)
		args = append(args, values[min(i, len(values)-1)])
	}
	return strings.Join(marks, ", "), args
}
