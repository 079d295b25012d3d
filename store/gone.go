package store

import (
	"context"
	"fmt"
	"strings"
)

// UnconfirmedRestarts is the ids of runs of some hosts, at most limit, that the
// host never confirmed and whose policy allows another attempt.
func (r Reader) UnconfirmedRestarts(ctx context.Context, hostIDs []string, limit int) ([]string, error) {
	return r.runIDs(ctx, hostIDs, limit, `status = 'spawning' AND acked = FALSE AND restart_policy <> 'never' AND attempt <= max_restarts`)
}

// ActiveRunsOf is the ids of active runs of some hosts, at most limit.
func (r Reader) ActiveRunsOf(ctx context.Context, hostIDs []string, limit int) ([]string, error) {
	return r.runIDs(ctx, hostIDs, limit, `status IN ('spawning', 'running')`)
}

// OpenRunIDs is the ids of runs of some hosts, at most limit, whose session may
// be alive.
func (r Reader) OpenRunIDs(ctx context.Context, hostIDs []string, limit int) ([]string, error) {
	return r.runIDs(ctx, hostIDs, limit, `status <> 'pending'`)
}

// runIDs finds open runs of hosts.
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

// oneOf is the inside of an IN for at least one and at most mostRows values.
func oneOf(values []string) (in string, args []any) {
	marks := make([]string, rowsFor(len(values)))
	for i := range marks {
		marks[i] = fmt.Sprintf("$%d", i+1)
		args = append(args, values[min(i, len(values)-1)])
	}
	return strings.Join(marks, ", "), args
}
