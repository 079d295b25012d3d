import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { configure, fireEvent, render, screen, within } from '@testing-library/react';
import { beforeEach, expect, it, vi } from 'vitest';
import { heldUntil, type Run } from '@/api/records';
import { run } from '@/live/fixtures';
import { BulkDialog } from './BulkDialog';
import { useBulkAction } from './bulkAction';
import { RunActions } from './RunActions';

// The timeouts only end a test that hangs: a busy machine is slow.
configure({ asyncUtilTimeout: 30_000 });
vi.setConfig({ testTimeout: 60_000 });
const asked: { path: string; body: unknown }[] = [];
let refuse: (path: string) => boolean = () => false;
let role = 'operator';

beforeEach(() => {
  asked.length = 0;
  refuse = () => false;
  role = 'operator';
  useBulkAction.setState({ action: null, through: null, outcome: null });
  vi.stubGlobal('fetch', async (path: string, { method, body }: RequestInit) => {
    if (path.endsWith('/me')) return Response.json({ name: 'ann', role, expires_at: null });
    if (path.startsWith('/api') && method !== 'GET')
      asked.push({ path, body: body ? JSON.parse(String(body)) : null });
    if (refuse(path)) {
      const error = { code: 'conflict', message: 'it is landed already', details: {} };
      return Response.json({ error }, { status: 409 });
    }
    if (path.endsWith('/runs/stop')) return Response.json({ stopped: ['a'], skipped: ['b'] });
    return Response.json(run('new', { status: 'pending' }));
  });
});

function open(runs: Run[], onDone = vi.fn()) {
  render(
    <QueryClientProvider client={new QueryClient()}>
      <RunActions runs={runs} onDone={onDone} />
      <BulkDialog />
    </QueryClientProvider>,
  );
  return onDone;
}

const active = [run('a', { task_title: 'One' }), run('b', { task_title: 'Two' })];
const over = (id: string, workspace: string | null): Run =>
  run(id, { status: 'exited', task_title: id, workspace_id: workspace });

it('stops all with one request, and says which one was over already', async () => {
  const onDone = open([...active, over('e', null)]);
  fireEvent.click(screen.getByRole('button', { name: 'Stop 2' }));
  expect(asked).toEqual([]);
  fireEvent.click(screen.getByRole('button', { name: 'Stop 2 runs' }));
  const refused = await screen.findByRole('list', { name: 'Refused' });
  expect(asked).toEqual([{ path: '/api/v1/runs/stop', body: { run_ids: ['a', 'b'] } }]);
  expect(within(refused).getAllByRole('listitem')).toHaveLength(1);
  expect(refused.textContent).toContain('Two');
  expect(refused.textContent).toContain('It had already ended.');
  expect(onDone).not.toHaveBeenCalled();
  fireEvent.click(screen.getAllByRole('button', { name: 'Close' }).at(-1) as HTMLElement);
  expect(onDone).toHaveBeenCalledOnce();
});

it('runs those again that are over, and lets them wait for their turn', async () => {
  const onDone = open([...active, over('e', null), over('f', null)]);
  fireEvent.click(screen.getByRole('button', { name: 'Run 2 again' }));
  fireEvent.click(screen.getByRole('button', { name: 'Start 2 runs' }));
  await vi.waitFor(() => expect(onDone).toHaveBeenCalledOnce());
  expect(asked).toEqual([
    { path: '/api/v1/runs/e/rerun', body: { wait: true } },
    { path: '/api/v1/runs/f/rerun', body: { wait: true } },
  ]);
});

it('discards a working copy once, however many runs share it; a refusal keeps nobody from the others', async () => {
  refuse = (path) => path.includes('w1');
  open([over('e', 'w1'), over('f', 'w1'), over('g', 'w2')]);
  fireEvent.click(screen.getByRole('button', { name: 'Discard 2' }));
  fireEvent.click(screen.getByRole('button', { name: 'Discard' }));
  const refused = await screen.findByRole('list', { name: 'Refused' });
  expect(refused.textContent).toContain('It is landed already.');
  expect(asked.map(({ path }) => path)).toEqual([
    '/api/v1/workspaces/w1/discard',
    '/api/v1/workspaces/w2/discard',
  ]);
});

it('holds those that wait and releases those that are held', async () => {
  open([run('w', { status: 'pending' }), run('h', { status: 'pending', not_before: heldUntil }), ...active]);
  fireEvent.click(screen.getByRole('button', { name: 'Hold 1' }));
  fireEvent.click(screen.getByRole('button', { name: 'Release 1' }));
  await vi.waitFor(() => expect(asked).toHaveLength(2));
  expect(asked).toEqual([
    { path: '/api/v1/runs/w', body: { not_before: heldUntil } },
    { path: '/api/v1/runs/h', body: { not_before: null } },
  ]);
});

it('offers only what fits some of them', () => {
  open([over('e', null)]);
  expect(screen.getAllByRole('button').map((button) => button.textContent)).toEqual(['Run 1 again']);
});

it('tells a viewer that it may only watch', async () => {
  role = 'viewer';
  open(active);
  expect(await screen.findByText('Your token may only watch.')).toBeTruthy();
  expect(screen.queryByRole('button', { name: /^Stop/ })).toBeNull();
});
