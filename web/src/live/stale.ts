// How cached answers are marked as stale. Nothing in the cache grows old by itself, so a mark that is lost leaves an old
// answer on the page for ever. The query client alone loses it in two cases: an answer that is under way clears the mark
// although it was asked before the change, and data that is written into a stale query counts as fresh.
import type { Query, QueryClient, QueryFilters, QueryKey } from '@tanstack/react-query';

/** The queries that are marked again when their present request is over, and when that is done. */
const pending = new WeakMap<Query, Promise<void>>();
/** The request that stale itself started last for a query. */
const started = new WeakMap<Query, Promise<unknown>>();

/**
 * stale has queries read again: those that are shown at once, the others when they are shown. It resolves when those that
 * are shown have an answer that was asked after the call. Every invalidation goes through it.
 *
 * A request that is under way was asked before the call. When an older answer is there to be shown meanwhile, the request
 * is cancelled and asked again. Otherwise it finishes, and is asked again then. So does one that stale started: however
 * many events arrive, a query has one request under way and at most one to follow.
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

/** mustFinish says whether a query has a request under way that is not cancelled for a newer one. */
function mustFinish(query: Query): boolean {
  const { fetchStatus, data } = query.state;
  if (fetchStatus === 'idle') return false;
  return data === undefined || !query.isActive() || query.promise === started.get(query);
}

/** staleAfter marks a query as stale when its present request is over, however that ends. */
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

/** amend changes a part of what a query holds, if it holds something. What was stale stays stale: the rest of it is. */
export function amend<T>(client: QueryClient, queryKey: QueryKey, change: (held: T) => T | undefined): void {
  const query = client.getQueryCache().find({ queryKey });
  if (query?.state.data === undefined) return;
  const { isInvalidated } = query.state;
  client.setQueryData<T>(queryKey, (held) => (held === undefined ? held : change(held)));
  if (!isInvalidated) return;
  query.invalidate();
  // When its request is cancelled because nobody looks any more, the query is set back to what was written just now.
  query.promise?.catch(() => {
    if (query.state.fetchStatus === 'idle' && !query.state.isInvalidated) void staleOne(client, query);
  });
}

/** staleOne has one query read again. */
export const staleOne = (client: QueryClient, query: Query): Promise<void> =>
  stale(client, { predicate: (other) => other === query });
