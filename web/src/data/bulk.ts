// Applies one action to many records. It reports a result for each; when one is refused, the others continue.
import { type QueryClient, useQueryClient } from '@tanstack/react-query';
import { useMemo } from 'react';
import { call } from '@/api/client';
import { messageOf } from '@/api/error';
import type { Host, Run, WorkItem } from '@/api/records';
import type { CreateRun, PatchRun } from '@/api/schema.gen';
import { randomKey } from '@/lib/id';
import { putRun } from '@/live/cache';
import { stale } from '@/live/stale';
import { putHost } from './actions';
import { keys } from './keys';

/** Outcome lists the records for which a bulk action succeeded, and those for which it was refused. */
export interface Outcome<T> {
  done: T[];
  refused: { item: T; why: string }[];
}

/** Bulk applies one action to many records and calls through with the number that it has processed so far. */
export type Bulk<T> = (items: readonly T[], through?: (count: number) => void) => Promise<Outcome<T>>;

/** inTurn returns a bulk action that processes one record after the other. */
export function inTurn<T>(act: (item: T) => Promise<unknown>): Bulk<T> {
  return async (items, through) => {
    const outcome: Outcome<T> = { done: [], refused: [] };
    for (const [index, item] of items.entries()) {
      try {
        await act(item);
        outcome.done.push(item);
      } catch (error) {
        outcome.refused.push({ item, why: messageOf(error) });
      }
      through?.(index + 1);
    }
    return outcome;
  };
}

/** How many runs one request may stop. */
const mostAtOnce = 500;

/** stopRuns stops runs, with as many per request as the server accepts. */
export const stopRuns: Bulk<Run> = async (runs, through) => {
  const outcome: Outcome<Run> = { done: [], refused: [] };
  for (let at = 0; at < runs.length; at += mostAtOnce) {
    const some = runs.slice(at, at + mostAtOnce);
    try {
      const answer = await call('POST /runs/stop', { body: { run_ids: some.map((run) => run.id) } });
      const stopped = new Set(answer.stopped);
      for (const run of some) {
        if (stopped.has(run.id)) outcome.done.push(run);
        else outcome.refused.push({ item: run, why: 'It had already ended.' });
      }
    } catch (error) {
      for (const item of some) outcome.refused.push({ item, why: messageOf(error) });
    }
    through?.(at + some.length);
  }
  return outcome;
};

/** oncePerWorkspace returns the runs that have a workspace. Of runs that share a workspace it returns the first. */
export function oncePerWorkspace(runs: readonly Run[]): Run[] {
  const seen = new Set<string>();
  return runs.filter(({ workspace_id: id }) => {
    if (id === null || seen.has(id)) return false;
    seen.add(id);
    return true;
  });
}

/** useBulkHosts returns the bulk actions for hosts. */
export function useBulkHosts() {
  const client = useQueryClient();
  return useMemo(() => {
    const act = (action: 'enable' | 'disable'): Bulk<Host> =>
      inTurn(async ({ id }) => putHost(client, await call(`POST /hosts/{id}/${action}`, { path: { id } })));
    return { enable: act('enable'), disable: act('disable') };
  }, [client]);
}

/** useBulkRuns returns the bulk actions for runs. */
export function useBulkRuns() {
  const client = useQueryClient();
  return useMemo(() => bulkRuns(client), [client]);
}

/** bulkRuns is useBulkRuns outside a component. */
export function bulkRuns(client: QueryClient) {
  const onWorkspace = (verb: 'discard' | 'keep'): Bulk<Run> =>
    inTurn(async (run) => {
      const id = run.workspace_id as string;
      client.setQueryData(keys.workspace(id), await call(`POST /workspaces/{id}/${verb}`, { path: { id } }));
    });
  /** wait changes how pending runs wait. */
  const wait = (of: (run: Run) => PatchRun): Bulk<Run> =>
    inTurn(async (run) => {
      putRun(client, await call('PATCH /runs/{id}', { path: { id: run.id }, body: of(run) }));
      void stale(client, { queryKey: ['queue'] });
    });
  return {
    stop: stopRuns,
    // Like runs that are started again, these wait in the queue.
    start: (of: (item: WorkItem) => CreateRun): Bulk<WorkItem> =>
      inTurn(async (item) => {
        const body = { ...of(item), task_id: item.id, wait: true };
        putRun(client, await call('POST /runs', { body, idempotencyKey: randomKey() }));
        void stale(client, { queryKey: ['runs'] });
      }),
    // Many runs at once fill the hosts: each waits in the queue instead of failing at the dispatch timeout.
    rerun: inTurn(async ({ id }: Run) => {
      const body = { wait: true };
      putRun(
        client,
        await call('POST /runs/{id}/rerun', { path: { id }, body, idempotencyKey: randomKey() }),
      );
      void stale(client, { queryKey: ['runs'] });
    }),
    setPriority: (of: (run: Run) => number) => wait((run) => ({ priority: of(run) })),
    setNotBefore: (of: (run: Run) => string | null) => wait((run) => ({ not_before: of(run) })),
    discard: onWorkspace('discard'),
    keep: onWorkspace('keep'),
  };
}
