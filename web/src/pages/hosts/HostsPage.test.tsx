import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import {
  createMemoryHistory,
  createRootRoute,
  createRoute,
  createRouter,
  RouterProvider,
} from '@tanstack/react-router';
import { configure, fireEvent, render, screen, waitFor, within } from '@testing-library/react';
import { beforeEach, expect, it, vi } from 'vitest';
import type { Host } from '@/api/records';
import { noteState } from '@/live/connection';
import { host } from '@/live/fixtures';
import { HostsPage } from './HostsPage';

vi.mock('@tanstack/react-virtual', () => import('@/lib/everyRow'));

// The timeouts only end a test that hangs: a busy machine is slow.
configure({ asyncUtilTimeout: 30_000 });
vi.setConfig({ testTimeout: 60_000 });
const refusing = { code: 'disk_low', message: '2 GB are free', until: '2026-01-02T03:05:00.000Z' };
let fleet: Host[];

beforeEach(() => {
  fleet = [
    ...Array.from({ length: 200 }, (_, i) => host(`build-${i}`, { active_runs: i % 7 })),
    host('gpu-1', { labels: { gpu: 'a100' }, disk_free_bytes: 5e11, active_runs: 9 }),
    host('gpu-2', { labels: { gpu: 'a100' }, disk_free_bytes: 2e9, refusing }),
    host('cut-off', { connected: false, disconnected_since: '2026-01-02T03:04:05.000Z' }),
    host('gone', { status: 'offline', connected: false }),
  ];
  noteState('open');
  vi.stubGlobal('fetch', async () => Response.json({ items: fleet, next_cursor: null }));
});

async function open(path: string): Promise<void> {
  const root = createRootRoute();
  const shell = createRoute({ getParentRoute: () => root, id: 'shell' });
  const hosts = createRoute({ getParentRoute: () => shell, path: '/hosts', component: HostsPage });
  const link = createRoute({ getParentRoute: () => shell, path: '/hosts/$hostId' });
  const router = createRouter({
    routeTree: root.addChildren([shell.addChildren([hosts, link])]),
    history: createMemoryHistory({ initialEntries: [path] }),
  });
  render(
    <QueryClientProvider client={new QueryClient()}>
      <RouterProvider router={router as never} />
    </QueryClientProvider>,
  );
  await screen.findByLabelText('Search hosts');
}

const names = (): string[] =>
  within(screen.getByRole('list', { name: 'Hosts' }))
    .getAllByRole('link')
    .map((row) => row.querySelector('.font-medium.truncate')?.textContent ?? '');
const search = (value: string) =>
  fireEvent.change(screen.getByLabelText('Search hosts'), { target: { value } });

it('puts those that take no runs first, and counts those that do', async () => {
  await open('/hosts');
  expect(names().slice(0, 4)).toEqual(['gone', 'cut-off', 'gpu-2', 'build-0']);
  expect(screen.getByText('201 of 204 take runs')).toBeTruthy();
  expect(screen.getByText(/Online, disk low/)).toBeTruthy();
  expect(screen.getByText(/Online, not connected for/)).toBeTruthy();
});

it('finds the two among hundreds, by label and by trouble', async () => {
  await open('/hosts');
  search('GPU=a100');
  await waitFor(() => expect(names()).toEqual(['gpu-2', 'gpu-1']));
  expect(screen.getByRole('status').textContent).toBe('2 of 204 fit');
  search('gpu disk_low');
  await waitFor(() => expect(names()).toEqual(['gpu-2']));
  expect(screen.getByText('2.0 GB free')).toBeTruthy();
});

it('tells a search without a hit from an empty fleet', async () => {
  await open('/hosts?q=nowhere');
  expect(screen.getByText('No host fits the search')).toBeTruthy();
  fireEvent.click(screen.getByRole('button', { name: 'Show all 204' }));
  await waitFor(() => expect(names()).toHaveLength(204));
});

it('sorts as the address says, numbers as numbers', async () => {
  await open('/hosts?sort=name');
  expect(names().slice(0, 3)).toEqual(['build-0', 'build-1', 'build-2']);
  fireEvent.change(screen.getByLabelText('Order of hosts'), { target: { value: 'disk' } });
  await waitFor(() => expect(names().slice(0, 3)).toEqual(['gpu-2', 'gpu-1', 'build-0']));
  fireEvent.change(screen.getByLabelText('Order of hosts'), { target: { value: 'load' } });
  await waitFor(() => expect(names()[0]).toBe('gpu-1'));
});
