// Changes that arrive while a request is in progress. The server may have read the answer before the change; writing
// that answer into the cache would undo the change. So the newest changes are kept, and are applied again to every
// answer that was requested before them: to a record, to a list, or to all pages of a list of which one was requested.
import type { Query, QueryClient, QueryKey } from '@tanstack/react-query';
import { amend, staleOne } from './stale';

/** Change applies one change to the data of a query, depending on the query's key. Null: the record was deleted. */
export type Change = (key: QueryKey, data: unknown) => unknown;

/** How many changes are kept at most, in case a request takes very long. */
const kept = 2000;

/** Recent keeps the changes that arrived while any request of a client was in progress. */
class Recent {
  private changes: Change[] = [];
  private count = 0;
  /** The number of changes that had arrived when a query's current request was sent. */
  private readonly asked = new WeakMap<Query, number>();

  constructor(private readonly client: QueryClient) {
    client.getQueryCache().subscribe((event) => {
      if (event.type !== 'updated') return;
      const { query, action } = event;
      if (action.type === 'fetch') this.asked.set(query, this.count);
      if (action.type === 'success' && !action.manual) this.answered(query);
    });
  }

  note(change: Change): void {
    if (this.client.isFetching() === 0) this.changes = [];
    this.count++;
    this.changes = [...this.changes.slice(1 - kept), change];
  }

  private answered(query: Query): void {
    const missed = this.count - (this.asked.get(query) ?? 0);
    if (missed === 0) return;
    for (const change of this.changes.slice(-missed)) apply(this.client, query, change);
    if (missed > kept) void staleOne(this.client, query);
  }
}

const recent = new WeakMap<QueryClient, Recent>();

/** keepRecent starts to keep the changes that arrive while a request of the client is in progress. */
export function keepRecent(client: QueryClient): Recent {
  const known = recent.get(client) ?? new Recent(client);
  recent.set(client, known);
  return known;
}

/** changeAll applies a change to all data that a client holds, and later to the answers of requests in progress. */
export function changeAll(client: QueryClient, change: Change): void {
  keepRecent(client).note(change);
  for (const query of client.getQueryCache().getAll()) apply(client, query, change);
}

function apply(client: QueryClient, { queryKey, state: { data } }: Query, change: Change): void {
  if (data === undefined || data === null) return;
  const next = change(queryKey, data);
  if (next === null) client.removeQueries({ queryKey, exact: true });
  else if (next !== data) amend(client, queryKey, () => next);
}
