import { InfiniteQueryObserver, QueryClient, QueryObserver } from '@tanstack/react-query';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { Event, Run, WorkItem } from '@/api/records';
import { CachePatcher, putRun } from '@/live/cache';
import { item, run } from '@/live/fixtures';
import type { JournalPages, RunPages } from '@/live/patches';
import type { JournalEvent } from '@/live/protocol';
import { keys } from './keys';
import { endedRunsQuery, historyQuery, journalQuery, workItemsQuery } from './queries';

vi.mock('@/live/connection', () => ({ streamReady: Promise.resolve() }));

/** Server holds every answer back until the test calls answer. */
class Server {
  private readonly open: ((body: unknown) => void)[] = [];

  constructor() {
    vi.stubGlobal(
      'fetch',
      () => new Promise((resolve) => this.open.push((body) => resolve(Response.json(body)))),
    );
  }

  /** answer sends the answer to the oldest open request and waits until it has arrived. */
  async answer(body: unknown): Promise<void> {
    await vi.waitFor(() => expect(this.open.length).toBeGreaterThan(0));
    this.open.shift()?.(body);
    await new Promise((resolve) => setTimeout(resolve));
  }
}

function lab() {
  const client = new QueryClient({
    defaultOptions: { queries: { staleTime: Number.POSITIVE_INFINITY, retry: false, networkMode: 'always' } },
  });
  return { client, server: new Server(), patcher: new CachePatcher(client) };
}

/** happened returns an event that causes no request. */
const happened = (seq: number): JournalEvent => ({
  seq,
  topic: 'run.lease_acquired',
  payload: { run_id: 'r', attempt: 1, task_id: 't', project_id: 'p', host_id: 'h' },
});
const kept = (seq: number): Event => ({
  ...happened(seq),
  topic: 'run.lease_acquired',
  created_at: '2026-01-01T00:00:00.000Z',
});
const page = <T>(items: T[], next_cursor: string | null = null) => ({ items, next_cursor });
const seqs = (data: unknown): number[] =>
  (data as JournalPages).pages.flatMap((each) => each.items.map((event) => event.seq));

afterEach(() => vi.unstubAllGlobals());

describe('what happens while an answer is under way', () => {
  it('is in a list that is read whole', async () => {
    const { client, server, patcher } = lab();
    new QueryObserver(client, workItemsQuery('p')).subscribe(() => undefined);
    patcher.apply([
      {
        seq: 5,
        topic: 'work_item.status_changed',
        payload: { task_id: 'a', project_id: 'p', status: 'done' },
      },
    ]);
    await server.answer(page([item('a')]));
    expect(client.getQueryData<WorkItem[]>(keys.workItems('p'))?.[0]?.status).toBe('done');
  });

  it.each([
    ['the journal', journalQuery([])],
    ['the history of an item', historyQuery('task_id', 't')],
    ['the history of a host', historyQuery('host_id', 'h')],
  ])('is in %s, at its first page and at a further one', async (_, options) => {
    const { client, server, patcher } = lab();
    const observer = new InfiniteQueryObserver(client, options as ReturnType<typeof journalQuery>);
    observer.subscribe(() => undefined);
    patcher.apply([happened(6)]);
    await server.answer(page([kept(5), kept(4)], 'more'));
    expect(seqs(client.getQueryData(options.queryKey))).toEqual([6, 5, 4]);
    const more = observer.fetchNextPage();
    patcher.apply([happened(7)]);
    await server.answer(page([kept(3)]));
    await more;
    expect(seqs(client.getQueryData(options.queryKey))).toEqual([7, 6, 5, 4, 3]);
  });

  it('is told once by a journal whose first page already begins behind it', async () => {
    const { client, server, patcher } = lab();
    const options = journalQuery([]);
    new InfiniteQueryObserver(client, options).subscribe(() => undefined);
    patcher.apply([happened(6)]);
    await server.answer(page([kept(9), kept(8)], 'more'));
    expect(seqs(client.getQueryData(options.queryKey))).toEqual([9, 8]);
  });

  it('brings a run that ended into the list of ended runs, without asking for its pages again', async () => {
    const { client, server } = lab();
    const ended = (id: string, day: number) =>
      run(id, { status: 'exited', created_at: `2026-01-0${day}T00:00:00.000Z` });
    const options = endedRunsQuery({});
    const observer = new InfiniteQueryObserver(client, options);
    observer.subscribe(() => undefined);
    const ids = () =>
      client
        .getQueryData<RunPages>(options.queryKey)
        ?.pages.flatMap((each) => each.items.map((one: Run) => one.id));
    putRun(client, ended('d', 4));
    await server.answer(page([ended('c', 3)], 'more'));
    expect(ids()).toEqual(['d', 'c']);
    const more = observer.fetchNextPage();
    putRun(client, ended('b', 5));
    await server.answer(page([ended('a', 1)]));
    await more;
    expect(ids()).toEqual(['b', 'd', 'c', 'a']);
  });

  it('has an answer asked again that was under way for longer than it is kept', async () => {
    const { client, server, patcher } = lab();
    new QueryObserver(client, workItemsQuery('p')).subscribe(() => undefined);
    for (let seq = 1; seq <= 2001; seq++) patcher.apply([happened(seq)]);
    await server.answer(page([item('a')]));
    await server.answer(page([item('a'), item('b')]));
    await vi.waitFor(() => expect(client.getQueryData<WorkItem[]>(keys.workItems('p'))?.length).toBe(2));
  });
});
