package store

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"svc"
)

const hostColumns = `id, name, status, platform, last_seen_at, instance_id, instance_suspect, suspect_instance_id, max_runs, labels,
	providers, providers_at, worker_version, last_dispatch_at, offline_since, disconnected_since, worker_key,
	suspect_worker_key, names_boot, signs_requests, containment, scopes, catalog_hash, created_at, updated_at, version`

// openRuns is a subquery: the number of runs of a host that may have a live
// session.
const openRuns = "(SELECT count(*) FROM runs WHERE " + openOn + " = hosts.id || '' AND runs.status <> 'pending')"

const hostQuery = "SELECT " + hostColumns + ", " + openRuns + " FROM hosts"

func scanHost(row scanner) (svc.Host, error) {
	var h svc.Host
	var labels, providers string
	err := row.Scan(&h.ID, &h.Name, &h.Status, &h.Platform, &h.LastSeenAt, &h.InstanceID, &h.InstanceSuspect, &h.SuspectInstanceID,
		&h.MaxRuns, &labels, &providers, &h.ProvidersAt, &h.WorkerVersion, &h.LastDispatchAt, &h.OfflineSince, &h.DisconnectedSince,
		&h.WorkerKey, &h.SuspectWorkerKey, &h.NamesBoot, &h.SignsRequests, &h.Containment, &h.Scopes, &h.CatalogHash, &h.CreatedAt, &h.UpdatedAt, &h.Version,
		&h.ActiveRuns)
	if err != nil {
		return h, err
	}
	return h, readHostJSON(&h, labels, providers)
}

func readHostJSON(h *svc.Host, labels, providers string) error {
	err := json.Unmarshal([]byte(labels), &h.Labels)
	if err == nil {
		err = json.Unmarshal([]byte(providers), &h.Providers)
	}
	if err != nil {
		return fmt.Errorf("host %s has invalid JSON: %w", h.ID, err)
	}
	return nil
}

// Host reads a host by id or name.
func (r Reader) Host(ctx context.Context, idOrName string) (svc.Host, error) {
	column := "name"
	if svc.IsID(idOrName) {
		column = "id"
	}
	return readOne(ctx, r.q, scanHost, "host", idOrName, hostQuery+" WHERE "+column+" = $1 AND deleted_at IS NULL", idOrName)
}

// HostByName reads a host by the name with which its worker registers.
func (r Reader) HostByName(ctx context.Context, name string) (svc.Host, error) {
	return readOne(ctx, r.q, scanHost, "host", name, hostQuery+" WHERE name = $1 AND deleted_at IS NULL", name)
}

// Identities returns those of the hosts that exist, by id, with the fields by which
// a worker is recognised and events name the host. The other fields are left empty.
func (r Reader) Identities(ctx context.Context, hostIDs []string) (map[string]svc.Host, error) {
	found := make(map[string]svc.Host, len(hostIDs))
	for ids := range slices.Chunk(hostIDs, mostRows) {
		in, args := oneOf(ids)
		_, err := collect(ctx, r.q, func(row scanner) (h svc.Host, err error) {
			err = row.Scan(&h.ID, &h.Name, &h.Status, &h.InstanceID, &h.InstanceSuspect, &h.WorkerKey, &h.NamesBoot, &h.SignsRequests, &h.Containment, &h.Scopes, &h.Version)
			found[h.ID] = h
			return h, err
		}, "SELECT id, name, status, instance_id, instance_suspect, worker_key, names_boot, signs_requests, containment, scopes, version FROM hosts WHERE id IN ("+in+") AND deleted_at IS NULL", args...)
		if err != nil {
			return nil, fmt.Errorf("read hosts: %w", err)
		}
	}
	return found, nil
}

// LockHost reads and locks a host that this unit changes.
func (tx *Tx) LockHost(ctx context.Context, idOrName string) (svc.Host, error) {
	column := "name"
	if svc.IsID(idOrName) {
		column = "id"
	}
	return readOne(ctx, tx.q, scanHost, "host", idOrName, hostQuery+" WHERE "+column+" = $1 AND deleted_at IS NULL"+tx.d.forUpdate, idOrName)
}

// Hosts returns a page of hosts, by name.
func (r Reader) Hosts(ctx context.Context, page svc.Page) (svc.List[svc.Host], error) {
	var w where
	w.add("deleted_at IS NULL")
	if page.Cursor != "" {
		var name string
		if err := readCursor("hosts", page.Cursor, &name); err != nil {
			return svc.List[svc.Host]{}, err
		}
		w.add("name > ?", name)
	}
	found, cut, err := collectUpTo(ctx, r.q, page.Bytes, scanHost, fmt.Sprintf("%s%s ORDER BY name LIMIT %d", hostQuery, w.sql(), page.Limit+1), w.args...)
	if err != nil {
		return svc.List[svc.Host]{}, fmt.Errorf("list hosts: %w", err)
	}
	return paged(found, cut, page.Limit, func(h svc.Host) string { return cursor("hosts", h.Name) }), nil
}

// Fleet returns every host that is not deleted, with the fields that placement
// needs. The other fields, such as the number of active runs (see HostLoads), are
// left empty. Hosts with equal labels or providers share a map, which the caller
// must not change: thousands of hosts have few different ones.
func (r Reader) Fleet(ctx context.Context) ([]svc.Host, error) {
	known := map[string]map[string]string{}
	catalogs := map[string]map[string]svc.ProviderReport{}
	return collect(ctx, r.q, func(row scanner) (h svc.Host, err error) {
		var labels, providers string
		if err := row.Scan(&h.ID, &h.Name, &h.Status, &h.InstanceSuspect, &h.MaxRuns, &labels, &providers, &h.LastDispatchAt); err != nil {
			return h, err
		}
		var hasLabels, hasCatalog bool
		h.Labels, hasLabels = known[labels]
		h.Providers, hasCatalog = catalogs[providers]
		if !hasLabels || !hasCatalog {
			err = readHostJSON(&h, labels, providers)
			known[labels], catalogs[providers] = h.Labels, h.Providers
		}
		return h, err
	}, "SELECT id, name, status, instance_suspect, max_runs, labels, providers, last_dispatch_at FROM hosts WHERE deleted_at IS NULL ORDER BY name")
}

// HostLoad is how many runs a host has.
type HostLoad struct {
	Active      int // their sessions may be alive
	Unconfirmed int // of these, the dispatches that the host has not confirmed
}

const hostLoads = "SELECT host_id || '', count(*), count(CASE WHEN " + isUnconfirmed + ` THEN 1 END)
	FROM runs WHERE session_ended_at IS NULL AND host_id IS NOT NULL AND status <> 'pending' GROUP BY host_id || ''`

// HostLoads returns the loads of all hosts with runs, by host. Its cost depends on
// the number of open runs, not on the number of hosts.
func (r Reader) HostLoads(ctx context.Context) (map[string]HostLoad, error) {
	loads := map[string]HostLoad{}
	_, err := collect(ctx, r.q, func(row scanner) (host string, err error) {
		var l HostLoad
		err = row.Scan(&host, &l.Active, &l.Unconfirmed)
		loads[host] = l
		return host, err
	}, hostLoads)
	if err != nil {
		return nil, fmt.Errorf("count the runs of hosts: %w", err)
	}
	return loads, nil
}

// AllHosts returns every host that is not deleted, by name.
func (r Reader) AllHosts(ctx context.Context) ([]svc.Host, error) {
	return collect(ctx, r.q, scanHost, hostQuery+" WHERE deleted_at IS NULL ORDER BY name")
}

// InsertHost adds a host.
func (tx *Tx) InsertHost(ctx context.Context, h svc.Host) error {
	_, err := tx.exec(ctx, "INSERT INTO hosts ("+hostColumns+") VALUES ($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13,$14,$15,$16,$17,$18,$19,$20,$21,$22,$23,$24,$25,$26)",
		h.ID, h.Name, h.Status, h.Platform, h.LastSeenAt, h.InstanceID, h.InstanceSuspect, h.SuspectInstanceID, h.MaxRuns,
		toJSON(h.Labels), toJSON(h.Providers), h.ProvidersAt, h.WorkerVersion, h.LastDispatchAt, h.OfflineSince, h.DisconnectedSince,
		h.WorkerKey, h.SuspectWorkerKey, h.NamesBoot, h.SignsRequests, h.Containment, h.Scopes, h.CatalogHash, h.CreatedAt, h.UpdatedAt, h.Version)
	if err != nil {
		return fmt.Errorf("insert host: %w", err)
	}
	return nil
}

// UpdateHost writes a host that was read in this unit.
func (tx *Tx) UpdateHost(ctx context.Context, h *svc.Host) error {
	h.UpdatedAt = tx.Now
	n, err := tx.exec(ctx, `UPDATE hosts SET name = $1, status = $2, platform = $3, last_seen_at = $4, instance_id = $5,
		instance_suspect = $6, suspect_instance_id = $7, max_runs = $8, labels = $9, providers = $10, providers_at = $11,
		worker_version = $12, last_dispatch_at = $13, offline_since = $14, updated_at = $15, worker_key = $16,
		suspect_worker_key = $17, names_boot = $18, containment = $19, scopes = $20, catalog_hash = $21, signs_requests = $22,
		suspect_since = CASE WHEN CAST($6 AS BOOLEAN) THEN coalesce(suspect_since, CAST($15 AS BIGINT)) END, version = version + 1, `+stillFits("$15")+`
		WHERE id = $23 AND version = $24 AND deleted_at IS NULL`,
		h.Name, h.Status, h.Platform, h.LastSeenAt, h.InstanceID, h.InstanceSuspect, h.SuspectInstanceID, h.MaxRuns, toJSON(h.Labels),
		toJSON(h.Providers), h.ProvidersAt, h.WorkerVersion, h.LastDispatchAt, h.OfflineSince, h.UpdatedAt,
		h.WorkerKey, h.SuspectWorkerKey, h.NamesBoot, h.Containment, h.Scopes, h.CatalogHash, h.SignsRequests, h.ID, h.Version)
	return changed("host", h.ID, &h.Version, n, err)
}

// DeleteHost marks a host as deleted. Its row stays, because runs refer to it.
func (tx *Tx) DeleteHost(ctx context.Context, id string) error {
	_, err := tx.exec(ctx, "UPDATE hosts SET deleted_at = $1, version = version + 1, "+stillFits("$1")+" WHERE id = $2 AND deleted_at IS NULL", tx.Now, id)
	if err != nil {
		return fmt.Errorf("delete host: %w", err)
	}
	return nil
}

// mostRows is the most values that one statement has.
const mostRows = 512

// rowsFor returns how many parameters a statement has for n values. There are
// only a few sizes, so that few texts are prepared. The caller fills the list up
// with its last value.
func rowsFor(n int) int {
	for _, size := range []int{1, 8, 64} {
		if n <= size {
			return size
		}
	}
	return mostRows
}

// SeenHosts writes the times of the last heartbeats of hosts, with one statement
// for many rows. It does not change the versions of the records. An older time
// never replaces a newer one, unless the stored time lies in the future, which
// means that the clock was set back since it was written.
func (tx *Tx) SeenHosts(ctx context.Context, seen map[string]svc.Time) error {
	ids := slices.Collect(maps.Keys(seen))
	for chunk := range slices.Chunk(ids, mostRows) {
		args := []any{tx.Now}
		rows := make([]string, rowsFor(len(chunk)))
		for i := range rows {
			id := chunk[min(i, len(chunk)-1)]
			args = append(args, id, seen[id])
			rows[i] = fmt.Sprintf("(CAST($%d AS TEXT), CAST($%d AS BIGINT))", len(args)-1, len(args))
		}
		_, err := tx.exec(ctx, `UPDATE hosts SET last_seen_at = beats.column2 FROM (VALUES `+strings.Join(rows, ", ")+`) AS beats
			WHERE hosts.id = beats.column1 AND (last_seen_at IS NULL OR last_seen_at < beats.column2 OR last_seen_at > $1)`, args...)
		if err != nil {
			return fmt.Errorf("write heartbeats: %w", err)
		}
	}
	return nil
}

// NoteLinks writes since when hosts are disconnected; nil: the host is connected.
// It does not change the versions of the records.
func (tx *Tx) NoteLinks(ctx context.Context, disconnectedSince map[string]*svc.Time) error {
	ids := slices.Collect(maps.Keys(disconnectedSince))
	for chunk := range slices.Chunk(ids, mostRows) {
		var args []any
		rows := make([]string, rowsFor(len(chunk)))
		for i := range rows {
			id := chunk[min(i, len(chunk)-1)]
			args = append(args, id, disconnectedSince[id])
			rows[i] = fmt.Sprintf("(CAST($%d AS TEXT), CAST($%d AS BIGINT))", len(args)-1, len(args))
		}
		_, err := tx.exec(ctx, `UPDATE hosts SET disconnected_since = links.column2 FROM (VALUES `+strings.Join(rows, ", ")+`) AS links
			WHERE hosts.id = links.column1`, args...)
		if err != nil {
			return fmt.Errorf("note connections: %w", err)
		}
	}
	return nil
}

// DispatchedTo writes the unit's time as the last dispatch to these hosts.
func (tx *Tx) DispatchedTo(ctx context.Context, hostIDs []string) error {
	for ids := range slices.Chunk(hostIDs, mostRows) {
		in, args := oneOf(ids)
		args = append(args, tx.Now)
		err := tx.later(ctx, anyRows, fmt.Sprintf("UPDATE hosts SET last_dispatch_at = $%d WHERE id IN (%s)", len(args), in), args...)
		if err != nil {
			return fmt.Errorf("note dispatches: %w", err)
		}
	}
	return nil
}
