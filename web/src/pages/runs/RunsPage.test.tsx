import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import {
  createMemoryHistory,
  createRootRoute,
  createRoute,
  createRouter,
  RouterProvider,
} from '@tanstack/react-router';
import { configure, fireEvent, render, screen, waitFor } from '@testing-library/react';
import { beforeEach, expect, it, vi } from 'vitest';
import type { Run } from '@/api/records';
import { noteState } from '@/live/connection';
import { host, project, run } from '@/live/fixtures';
import { RunsPage } from './RunsPage';

vi.mock('@tanstack/react-virtual', () => import('@/lib/everyRow'));

// The timeouts only end a test that hangs: a busy machine is slow.
configure({ asyncUtilTimeout: 30_000 });
vi.setConfig({ testTimeout: 60_000 });
const asked: string[] = [];
let ended: Run[] = [];

/** answer is a server with these runs. It filters and pages as the real one does. */
function answer(url: URL): unknown {
  const query = url.searchParams;
  if (url.pathname.endsWith('/projects')) return { items: [project('p')], next_cursor: null };
  if (url.pathname.endsWith('/hosts')) return { items: [host('h')], next_cursor: null };
  if (url.pathname.endsWith('/runs/counts')) return { exited: 0, failed: ended.length, stopped: 0 };
  if (!url.pathname.endsWith('/runs')) return { items: [], next_cursor: null };
  const found = ended.filter(
    (each) =>
      query.getAll('status').includes(each.status) &&
      (!query.get('provider') || each.provider === query.get('provider')),
  );
  const from = Number(query.get('cursor') ?? 0);
  const next = from + Number(query.get('limit'));
  return { items: found.slice(from, next), next_cursor: next < found.length ? String(next) : null };
}

beforeEach(() => {
  asked.length = 0;
  noteState('open');
  vi.stubGlobal('fetch', async (path: string) => {
    asked.push(path);
    return Response.json(answer(new URL(path, 'http://svc')));
  });
});

function open(path: string): void {
  const root = createRootRoute();
  const shell = createRoute({ getParentRoute: () => root, id: 'shell' });
  const runs = createRoute({ getParentRoute: () => shell, path: '/runs', component: RunsPage });
  const link = createRoute({ getParentRoute: () => shell, path: '/runs/$runId' });
  const router = createRouter({
    routeTree: root.addChildren([shell.addChildren([runs, link])]),
    history: createMemoryHistory({ initialEntries: [path] }),
  });
  render(
    <QueryClientProvider client={new QueryClient()}>
      <RouterProvider router={router as never} />
    </QueryClientProvider>,
  );
}

it('asks the server for what a filter wants, and finds the one among thousands', async () => {
  ended = [
    ...Array.from({ length: 900 }, (_, i) => run(`r${i}`, { status: 'exited' })),
    run('rare', { status: 'failed', provider: 'rare', task_title: 'The one' }),
  ];
  open('/runs?status=failed&provider=rare');
  await waitFor(() =>
    expect(asked.some((url) => /\/runs\?provider=rare&status=failed/.test(url))).toBe(true),
  );
  expect(await screen.findByText('The one')).toBeTruthy();
  expect(screen.queryByText('No run fits the filter')).toBeNull();
});

it('reads on where a page ends, until the server has no more', async () => {
  ended = Array.from({ length: 130 }, (_, i) => run(`r${i}`, { status: 'failed', task_title: `Task ${i}` }));
  open('/runs?status=failed');
  expect(await screen.findByText('Task 129')).toBeTruthy();
  expect(screen.getByText('130').parentElement?.textContent).toBe('Ended130');
});

it('says that none fits only when the server has none', async () => {
  ended = [run('a', { status: 'failed' })];
  open('/runs?status=stopped');
  expect(await screen.findByText('No run fits the filter')).toBeTruthy();
});

it('never takes a project that is not there for all of them', async () => {
  ended = [run('a', { status: 'failed' })];
  open('/runs?project=gone');
  expect(await screen.findByText('No run fits the filter')).toBeTruthy();
  expect(asked.some((url) => url.includes('/runs?'))).toBe(false);
});

it('says how far a search has looked, and goes on when someone wants it to', async () => {
  ended = Array.from({ length: 130 }, (_, i) => run(`r${i}`, { status: 'failed', task_title: `Task ${i}` }));
  open('/runs?status=failed&q=Task+129');
  expect(await screen.findByText(/100 of 130 ended runs were looked through/)).toBeTruthy();
  expect(screen.queryByText('Task 129')).toBeNull();
  expect(screen.queryByText('No run fits the filter')).toBeNull();
  fireEvent.click(screen.getByRole('button', { name: 'Look through older runs' }));
  expect(await screen.findByText('Task 129')).toBeTruthy();
});

it('selects a range, and says how many', async () => {
  ended = ['a', 'b', 'c', 'd'].map((id) => run(id, { status: 'failed', task_title: `Task ${id}` }));
  open('/runs?status=failed');
  const box = (id: string) => screen.getByRole('checkbox', { name: `Select Task ${id}, svc-${id}` });
  await screen.findByText('Task d');
  fireEvent.click(box('a'));
  fireEvent.click(box('c'), { shiftKey: true });
  const bar = screen.getByRole('region', { name: 'Selection' });
  expect(bar.textContent).toContain('3 selected');
  fireEvent.keyDown(box('d'), { key: 'x', code: 'KeyX' });
  expect(bar.textContent).toContain('4 selected');
  fireEvent.keyDown(box('d'), { key: 'Escape', code: 'Escape' });
  expect(screen.queryByRole('region', { name: 'Selection' })).toBeNull();
});
