import { describe, expect, it } from 'vitest';
import type { Run } from '@/api/records';
import { host, item, project, run } from './fixtures';
import {
  patchChangeSizes,
  patchHosts,
  patchProjects,
  patchRun,
  patchRunPages,
  patchRuns,
  patchWorkItem,
  patchWorkItems,
  type RunFilter,
  type RunPages,
  withEndedRun,
} from './patches';
import type { JournalEvent } from './protocol';

const event = (topic: string, payload: Record<string, unknown>) => ({ seq: 1, topic, payload });
const payloadOf = (id: string, fields: Record<string, unknown> = {}) => {
  const { description, auto_mark_done, created_at, updated_at, id: task_id, ...rest } = item(id);
  return { task_id, ...rest, ...fields };
};
const ids = (list: { id: string }[]): string => list.map(({ id }) => id).join('');

describe('work items', () => {
  const items = [item('a'), item('c', { description: 'kept', auto_mark_done: true }), item('e')];

  it('are inserted where their position says, once', () => {
    const created = event('work_item.created', payloadOf('d'));
    const next = patchWorkItems(items, 'p', created);
    expect(ids(next)).toBe('acde');
    expect(ids(patchWorkItems(next, 'p', created))).toBe('acde');
  });

  it('keep the fields that events do not carry', () => {
    const next = patchWorkItems(
      items,
      'p',
      event('work_item.updated', payloadOf('c', { title: 'new', position: 'z' })),
    );
    expect(ids(next)).toBe('aec');
    expect(next[2]).toMatchObject({ title: 'new', description: 'kept', auto_mark_done: true });
  });

  it('take those below along when their path changes', () => {
    const tree = [
      item('a'),
      item('b'),
      item('c', { path: 'b/c', parent_id: 'b' }),
      item('bb', { path: 'bb' }),
    ];
    const next = patchWorkItems(
      tree,
      'p',
      event('work_item.reparented', payloadOf('b', { parent_id: 'a', path: 'a/b' })),
    );
    expect(next.map(({ path }) => path)).toEqual(['a', 'a/b', 'a/b/c', 'bb']);
  });

  it('leave, and stay gone for late events', () => {
    const next = patchWorkItems(items, 'p', event('work_item.deleted', { task_id: 'c', project_id: 'p' }));
    expect(ids(next)).toBe('ae');
    expect(patchWorkItems(next, 'p', event('work_item.updated', payloadOf('c')))).toBe(next);
    expect(
      patchWorkItem(item('c'), event('work_item.deleted', { task_id: 'c', project_id: 'p' })),
    ).toBeNull();
  });

  it('of other projects and other topics change nothing', () => {
    expect(patchWorkItems(items, 'p', event('work_item.created', payloadOf('d', { project_id: 'q' })))).toBe(
      items,
    );
    expect(patchWorkItems(items, 'p', event('run.created', { run_id: 'r' }))).toBe(items);
  });

  it('are replaced by a snapshot', () => {
    const work_items = [item('z'), item('y'), item('x', { project_id: 'q' })];
    const next = patchWorkItems(
      items,
      'p',
      event('snapshot', { projects: [], work_items, runs: [], hosts: [] }),
    );
    expect(ids(next)).toBe('yz');
  });
});

describe('runs', () => {
  const about = (fields: Record<string, unknown>) => ({
    run_id: 'r',
    attempt: 1,
    task_id: 't',
    project_id: 'p',
    status: 'running',
    ...fields,
  });

  it('follow their own attempt only', () => {
    const second = run('r', { attempt: 2 });
    expect(patchRun(second, event('run.finished', about({ status: 'failed', exit_code: 1 })))).toBe(second);
    expect(
      patchRun(run('r'), event('run.finished', about({ status: 'failed', exit_code: 1 }))),
    ).toMatchObject({ status: 'failed', exit_code: 1 });
  });

  it('take over a new title of their task', () => {
    const renamed = event('work_item.updated', { task_id: 't', project_id: 'p', title: 'new' });
    const list = [run('a', { task_id: 't' }), run('b', { task_id: 'other', task_title: 'kept' })];
    expect(patchRuns(list, {}, renamed).map((each) => each.task_title)).toEqual(['new', 'kept']);
    expect(patchRuns([run('b', { task_id: 'other' })], {}, renamed)[0]?.task_title).toBe('T');
  });

  it('lose what belonged to the older attempt when they begin again', () => {
    const failed = run('r', {
      status: 'failed',
      exit_code: 3,
      error: 'x',
      ended_at: 'then',
      needs_input: true,
    });
    const next = patchRun(
      failed,
      event('run.requeued', about({ attempt: 2, status: 'pending', next_dispatch_at: 'soon' })),
    );
    expect(next).toMatchObject({
      attempt: 2,
      status: 'pending',
      exit_code: null,
      error: null,
      ended_at: null,
      needs_input: false,
      host_id: null,
      next_dispatch_at: 'soon',
    });
  });

  it('need someone until a hook, an input or the end says otherwise', () => {
    const asks = patchRun(
      run('r'),
      event(
        'run.signal_received',
        about({ kind: 'progress', message: 'Deploy?', percent: 40, needs_input: true }),
      ),
    );
    expect(asks).toMatchObject({ needs_input: true, progress_message: 'Deploy?', progress_percent: 40 });
    expect(
      patchRun(asks, event('run.signal_received', about({ kind: 'input', needs_input: false }))),
    ).toMatchObject({ needs_input: false, progress_message: 'Deploy?' });
    expect(patchRun(asks, event('run.stopped', about({ status: 'stopped' })))).toMatchObject({
      needs_input: false,
      status: 'stopped',
    });
  });

  it('note output by its time and nothing else', () => {
    const next = patchRun(
      run('r'),
      event('run.output_appended', about({ status: 'exited', timestamp: 'now', line_count: 1 })),
    );
    expect(next).toEqual(run('r', { last_output_at: 'now' }));
  });

  it('say who has the keyboard', () => {
    const held = { ...run('r'), lease: null };
    const taken = patchRun(held, event('run.lease_acquired', about({ timestamp: 'now', holder: 'ann' })));
    expect(taken).toEqual({ ...held, lease: { attached_at: 'now', holder: 'ann' } });
    expect(patchRun(taken, event('run.lease_released', about({})))).toEqual(held);
  });

  it('enter only the lists that they fit', () => {
    const created = event(
      'run.created',
      about({ status: 'pending', provider: 'demo', session_name: 'svc-r' }),
    );
    expect(ids(patchRuns([run('a')], { project_id: 'p' }, created))).toBe('ra');
    expect(ids(patchRuns([run('a')], { task_id: 'other' }, created))).toBe('a');
    const list = [run('r')];
    expect(patchRuns(list, {}, event('run.lease_acquired', about({})))).toBe(list);
  });
});

describe('hosts and projects', () => {
  it('change their status, name and presence', () => {
    const hosts = [host('h'), host('i')];
    expect(
      patchHosts(hosts, event('worker.offline', { host_id: 'h', name: 'h', status: 'offline' }))[0]?.status,
    ).toBe('offline');
    expect(
      patchHosts(hosts, event('worker.instance_suspect', { host_id: 'i', name: 'i', status: 'online' }))[1]
        ?.instance_suspect,
    ).toBe(true);
    expect(ids(patchHosts(hosts, event('host.deleted', { host_id: 'h' })))).toBe('i');
    expect(patchHosts(hosts, event('host.updated', { host_id: 'x' }))).toBe(hosts);
  });

  it('are renamed and archived', () => {
    const projects = [project('p'), project('q')];
    expect(
      patchProjects(projects, event('project.updated', { project_id: 'p', name: 'N', slug: 'n' }))[0],
    ).toMatchObject({ name: 'N', slug: 'n' });
    expect(ids(patchProjects(projects, event('project.archived', { project_id: 'p' })))).toBe('q');
  });
});

describe('ended runs, page by page', () => {
  const at = (n: number): Partial<Run> => ({ status: 'failed', created_at: `2026-01-02T03:04:0${n}.000Z` });
  const list = (): RunPages => ({
    pages: [
      { items: [run('e', at(8)), run('d', at(6))], next_cursor: 'x' },
      { items: [run('b', at(4))], next_cursor: 'y' },
    ],
    pageParams: [undefined, 'x'],
  });
  const filter: RunFilter = { status: ['failed'] };
  const shown = (pages: RunPages): string => pages.pages.flatMap((p) => p.items.map((r) => r.id)).join('');

  it('take one that has ended in its place, but none that lies beyond what is loaded', () => {
    expect(shown(withEndedRun(list(), filter, run('c', at(5))))).toBe('edcb');
    expect(shown(withEndedRun(list(), filter, run('f', at(9))))).toBe('fedb');
    expect(shown(withEndedRun(list(), filter, run('a', at(2))))).toBe('edb');
    expect(shown(withEndedRun(list(), filter, run('c', { ...at(5), status: 'exited' })))).toBe('edb');
  });

  it('lose one that begins again', () => {
    const again: JournalEvent = {
      seq: 1,
      topic: 'run.requeued',
      payload: { run_id: 'd', attempt: 2, status: 'pending' },
    };
    expect(shown(patchRunPages(list(), filter, again))).toBe('eb');
    const other = list();
    expect(patchRunPages(other, filter, { ...again, payload: { ...again.payload, run_id: 'z' } })).toBe(
      other,
    );
  });
});

it('a checkpoint tells how large the change in a working copy is', () => {
  const sizes = { w: { files: 1, additions: 2, deletions: 3 } };
  const payload = { workspace_id: 'w', project_id: 'p', files: 2, additions: 5, deletions: 3 };
  const next = patchChangeSizes(sizes, 'p', event('workspace.checkpointed', payload));
  expect(next).toEqual({ w: { files: 2, additions: 5, deletions: 3 } });
  expect(patchChangeSizes(next, 'p', event('workspace.checkpointed', payload))).toBe(next);
  expect(patchChangeSizes(sizes, 'other', event('workspace.checkpointed', payload))).toBe(sizes);
  expect(patchChangeSizes(sizes, 'p', event('workspace.ready', payload))).toBe(sizes);
});
