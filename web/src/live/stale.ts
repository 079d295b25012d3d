// Marks cached answers as stale. Nothing in the cache expires by itself, so if a mark is lost, the page shows an old
// answer for ever. The query client alone loses marks in two cases. First: an answer of a request in progress clears the
// mark although it was requested before the change. Second: data that is written into a stale query counts as fresh.
import type { Query, QueryClient, QueryFilters, QueryKey } from '@tanstack/react-query';

/** Queries that are marked again when their current request ends. The promise resolves after that. */
const pending = new WeakMap<Query, Promise<void>>();
/** The last request of a query that stale itself started. */
const started = new WeakMap<Query, Promise<unknown>>();

/**
 * stale makes queries be read again: queries in use at once, the others when they are next used. It resolves when the
 * queries in use have an answer that was requested after the call. Every invalidation uses this function.
 *
 * A request in progress was sent before the call. If the query already has an older answer to show, that request is
 * cancelled and sent again. If not, or if stale itself started the request, it finishes first and is sent again then.
 * So a query has one request in progress and at most one to follow, however many events arrive.
 */
export async function stale(client: QueryClient, filters: QueryFilters): Promise<void> {
  const found = client.getQueryCache().findAll(filters);
  const unfinished = found.filter(mustFinish);
  const others = new Set(found.filter((query) => !unfinished.includes(query)));
  for (const query of unfinished) query.invalidate();
  const read = client.invalidateQueries({ predicate: (query) => others.has(query) });
  for (const query of others) if (query.promise) started.set(query, query.promise);
  await Promise.all([read, ...unfinished.map((query) => staleAfter(client, query))]);
}

/** mustFinish reports whether a query has a request in progress that must not be cancelled for a newer one. */
function mustFinish(query: Query): boolean {
  const { fetchStatus, data } = query.state;
  if (fetchStatus === 'idle') return false;
  return data === undefined || !query.isActive() || query.promise === started.get(query);
}

/** staleAfter marks a query as stale when its current request ends, with or without an error. */
function staleAfter(client: QueryClient, query: Query): Promise<void> {
  const known = pending.get(query);
  if (known) return known;
  const again = (): Promise<void> => {
    pending.delete(query);
    return staleOne(client, query);
  };
  const marked = Promise.resolve(query.promise).then(again, again);
  pending.set(query, marked);
  return marked;
}

/** amend changes part of a query's data, if it has data. A stale query stays stale, because the rest is still old. */
export function amend<T>(client: QueryClient, queryKey: QueryKey, change: (held: T) => T | undefined): void {
  const query = client.getQueryCache().find({ queryKey });
  if (query?.state.data === undefined) return;
  const { isInvalidated } = query.state;
  client.setQueryData<T>(queryKey, (held) => (held === undefined ? held : change(held)));
  if (!isInvalidated) return;
  query.invalidate();
  // If the request is cancelled because nothing uses the query any more, the query returns to the data just written
  // and loses its mark.
  query.promise?.catch(() => {
    if (query.state.fetchStatus === 'idle' && !query.state.isInvalidated) void staleOne(client, query);
  });
}

/** staleOne makes one query be read again. */
export const staleOne = (client: QueryClient, query: Query): Promise<void> =>
  stale(client, { predicate: (other) => other === query });
