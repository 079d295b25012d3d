import { QueryClient, QueryObserver } from '@tanstack/react-query';
import { describe, expect, it, vi } from 'vitest';
import type { Run, WorkItem } from '@/api/records';
import { keys } from '@/data/keys';
import { CachePatcher, putRun } from './cache';
import { item, run } from './fixtures';
import type { JournalEvent } from './protocol';

const moved = {
  seq: 5,
  topic: 'work_item.status_changed',
  payload: { task_id: 'a', project_id: 'p', status: 'done' },
};

describe('the cache', () => {
  it('takes events into every query that holds the record', () => {
    const client = new QueryClient();
    client.setQueryData(keys.workItems('p'), [item('a'), item('b')]);
    client.setQueryData(keys.workItem('a'), item('a', { description: 'd' }));
    new CachePatcher(client).apply([moved]);
    expect(client.getQueryData<WorkItem[]>(keys.workItems('p'))?.[0]?.status).toBe('done');
    expect(client.getQueryData<WorkItem>(keys.workItem('a'))).toMatchObject({
      status: 'done',
      description: 'd',
    });
  });

  it('gathers output, and takes it in before what comes after it', () => {
    vi.useFakeTimers();
    const client = new QueryClient();
    const runs = [run('r')];
    client.setQueryData(keys.runs({}), runs);
    const printed = (seq: number): JournalEvent => ({
      seq,
      topic: 'run.output_appended',
      payload: { run_id: 'r', attempt: 1, timestamp: `2026-01-02T03:05:0${seq}.000Z` },
    });
    const last = () => client.getQueryData<Run[]>(keys.runs({}))?.[0]?.last_output_at;
    const patcher = new CachePatcher(client);
    patcher.apply([printed(1)]);
    patcher.apply([printed(2)]);
    expect(client.getQueryData(keys.runs({}))).toBe(runs);
    vi.advanceTimersByTime(1000);
    expect(last()).toBe('2026-01-02T03:05:02.000Z');
    patcher.apply([printed(3)]);
    patcher.apply([moved]);
    expect(last()).toBe('2026-01-02T03:05:03.000Z');
    vi.useRealTimers();
  });

  it('brings back no item whose record was on its way when it was deleted', async () => {
    vi.useFakeTimers();
    let answer: (response: Response) => void = () => {};
    const asked = vi.fn(() => new Promise<Response>((resolve) => (answer = resolve)));
    vi.stubGlobal('fetch', asked);
    const client = new QueryClient();
    client.setQueryData(keys.workItems('p'), [item('a')]);
    const patcher = new CachePatcher(client);
    patcher.apply([
      { seq: 6, topic: 'work_item.updated', payload: { task_id: 'a', project_id: 'p', title: 'A' } },
    ]);
    await vi.advanceTimersByTimeAsync(1000);
    expect(asked).toHaveBeenCalledOnce();
    patcher.apply([{ seq: 7, topic: 'work_item.deleted', payload: { task_id: 'a', project_id: 'p' } }]);
    answer(Response.json(item('a')));
    await vi.advanceTimersByTimeAsync(1000);
    expect(client.getQueryData(keys.workItems('p'))).toEqual([]);
    vi.unstubAllGlobals();
    vi.useRealTimers();
  });

  it('keeps lists that an event does not touch as they are', () => {
    const client = new QueryClient();
    const items = [item('a', { project_id: 'q' })];
    client.setQueryData(keys.workItems('q'), items);
    new CachePatcher(client).apply([moved]);
    expect(client.getQueryData(keys.workItems('q'))).toBe(items);
  });

  it('puts a run into the list of the host that took it, and takes it out of another’s', () => {
    const client = new QueryClient();
    const ids = (host_id: string) =>
      client.getQueryData<Run[]>(keys.runs({ host_id }))?.map((each) => each.id);
    const placed = run('b', { host_id: 'h', status: 'spawning', created_at: '2026-01-02T00:00:00.000Z' });
    client.setQueryData(keys.runs({ host_id: 'h' }), [
      run('c', { host_id: 'h', created_at: '2026-01-03T00:00:00.000Z' }),
      run('a', { host_id: 'h', created_at: '2026-01-01T00:00:00.000Z' }),
    ]);
    client.setQueryData(keys.runs({ host_id: 'other' }), [{ ...placed, host_id: 'other' }]);
    putRun(client, placed);
    expect(ids('h')).toEqual(['c', 'b', 'a']);
    expect(ids('other')).toEqual([]);
  });

  it('has a first answer asked again when an event came while it was under way', async () => {
    const client = new QueryClient();
    let asked = 0;
    let answer: (text: string) => void = () => {};
    const first = new Promise<string>((resolve) => (answer = resolve));
    const queryFn = () => (++asked === 1 ? first : 'after the event');
    const second = new Promise<void>((resolve) =>
      new QueryObserver(client, { queryKey: keys.taskWorkspaces('t'), queryFn }).subscribe(
        ({ data }) => data === 'after the event' && resolve(),
      ),
    );
    const payload = { workspace_id: 'w', task_id: 't' };
    new CachePatcher(client).apply([{ seq: 1, topic: 'workspace.landed', payload }]);
    answer('before the event');
    await second;
    expect(asked).toBe(2);
  });

  it('keeps a list stale that an event changes in part', () => {
    const client = new QueryClient();
    client.setQueryData(keys.workItems('p'), [item('a')]);
    const patcher = new CachePatcher(client);
    patcher.refreshAll();
    patcher.apply([moved]);
    expect(client.getQueryState(keys.workItems('p'))).toMatchObject({
      data: [{ status: 'done' }],
      isInvalidated: true,
    });
  });

  it('leaves ended runs that a list does not hold out of it', () => {
    const client = new QueryClient();
    client.setQueryData(keys.runs({}), []);
    putRun(client, run('old', { status: 'exited' }));
    expect(client.getQueryData(keys.runs({}))).toEqual([]);
  });
});
