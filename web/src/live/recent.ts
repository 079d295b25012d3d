// What happens while an answer is under way. The server may have read the answer before the change, and writing it into the
// cache would take the change back. So the newest changes are kept, and applied again to every answer that was asked
// before them: to one record, to a whole list, and to the pages of a list, of which only one was asked.
import type { Query, QueryClient, QueryKey } from '@tanstack/react-query';
import { amend, staleOne } from './stale';

/** Change is what something that happened does to the data of a query, by the query's key. Null: what it held is gone. */
export type Change = (key: QueryKey, data: unknown) => unknown;

/** How many changes are kept at most, for a request that takes very long. */
const kept = 2000;

/** Recent keeps the changes that came while any answer of a client was under way. */
class Recent {
  private changes: Change[] = [];
  private count = 0;
  /** How many changes there had been when a query's present request was made. */
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

/** keepRecent begins to keep what happens while an answer of a client is under way. */
export function keepRecent(client: QueryClient): Recent {
  const known = recent.get(client) ?? new Recent(client);
  recent.set(client, known);
  return known;
}

/** changeAll applies a change to everything that a client holds, and later to the answers that are under way. */
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
