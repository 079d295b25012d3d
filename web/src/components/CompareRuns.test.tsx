import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { createMemoryHistory, createRootRoute, createRouter, RouterProvider } from '@tanstack/react-router';
import { configure, fireEvent, render, screen, waitFor } from '@testing-library/react';
import { expect, it, vi } from 'vitest';
import type { Workspace } from '@/api/schema.gen';
import { keys } from '@/data/keys';
import { run, workspace } from '@/live/fixtures';
import { CompareRuns, durationText } from './CompareRuns';
import { othersOf } from './changes/DiscardOthers';

// The timeouts only end a test that hangs: a busy machine is slow.
configure({ asyncUtilTimeout: 30_000 });
vi.setConfig({ testTimeout: 60_000 });
const copy = (id: string, fields: Partial<Workspace> = {}): Workspace =>
  workspace(id, { state: 'ready', files: 2, additions: 120, deletions: 14, ...fields });

it('shows runs beside each other, and discards one that can be restored', async () => {
  const asked: string[] = [];
  vi.stubGlobal('fetch', async (url: string, init: RequestInit) => {
    asked.push(`${init.method} ${url}`);
    if (init.method !== 'POST') return Response.json({ items: copies, next_cursor: null });
    copies = [copies[0] as Workspace, copy('w2', { discarded_at: '2026-01-02T03:04:05.000Z' })];
    return Response.json(copies[1]);
  });
  let copies = [copy('w1', { landed_commit: 'abc', landed_into: 'main' }), copy('w2')];
  const runs = [
    run('r1', { provider: 'claude', model: 'large', workspace_id: 'w1', status: 'exited' }),
    run('r2', { provider: 'codex', workspace_id: 'w2', status: 'exited' }),
  ];
  const client = new QueryClient();
  client.setQueryData(keys.hosts, []);
  const router = createRouter({
    routeTree: createRootRoute({ component: () => <CompareRuns taskId="t" runs={runs} /> }),
    history: createMemoryHistory(),
  });
  render(
    <QueryClientProvider client={client}>
      <RouterProvider router={router as never} />
    </QueryClientProvider>,
  );
  await screen.findByText('Landed into main');
  expect(screen.getAllByRole('columnheader').map((cell) => cell.textContent)).toEqual([
    'Run',
    'claude large',
    'codex',
  ]);
  const changes = screen.getByRole('row', { name: /^Changes/ });
  expect([...changes.querySelectorAll('td')].map((cell) => cell.textContent)).toEqual([
    '+120 −142 files',
    '+120 −142 files',
  ]);
  fireEvent.click(screen.getByRole('button', { name: 'Discard' }));
  await screen.findByRole('button', { name: 'Restore' });
  expect(asked.filter((each) => each.startsWith('POST'))).toEqual(['POST /api/v1/workspaces/w2/discard']);
  await waitFor(() => expect(screen.queryByRole('button', { name: 'Discard' })).toBeNull());
});

it('says how long a run took, or has taken so far', () => {
  const now = Date.parse('2026-01-02T03:10:00.000Z');
  const started_at = '2026-01-02T03:00:00.000Z';
  expect(durationText(run('a', { started_at, ended_at: '2026-01-02T03:05:00.000Z' }), now)).toBe('5 min');
  expect(durationText(run('a', { started_at, ended_at: null, status: 'running' }), now)).toBe(
    '10 min so far',
  );
  expect(durationText(run('a', { started_at: null, status: 'pending' }), now)).toBe('Not started yet');
  expect(durationText(run('a', { started_at: null, status: 'stopped' }), now)).toBe('Did not start');
});

it('offers to discard only what nobody works in and nobody has decided on', () => {
  const landed = copy('l', { landed_commit: 'abc' });
  const copies = [
    landed,
    copy('free'),
    copy('at work', { state: 'busy' }),
    copy('landed too', { landed_commit: 'def' }),
    copy('discarded', { discarded_at: '2026-01-02T03:04:05.000Z' }),
    copy('removed', { state: 'removed' }),
  ];
  expect(othersOf(landed, copies).map(({ id }) => id)).toEqual(['free']);
});
