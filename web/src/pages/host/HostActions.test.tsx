import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { createMemoryHistory, createRootRoute, createRouter, RouterProvider } from '@tanstack/react-router';
import { cleanup, configure, fireEvent, render, screen, waitFor } from '@testing-library/react';
import { afterEach, expect, it, vi } from 'vitest';
import type { Host, Role } from '@/api/records';
import { keys } from '@/data/keys';
import { host } from '@/live/fixtures';
import { HostActions } from './HostActions';

// The timeouts only end a test that hangs: a busy machine is slow.
configure({ asyncUtilTimeout: 30_000 });
vi.setConfig({ testTimeout: 60_000 });
afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

function show(role: Role, of: Host): void {
  const client = new QueryClient({ defaultOptions: { queries: { staleTime: Number.POSITIVE_INFINITY } } });
  client.setQueryData(keys.me, { name: 'ann', role, expires_at: null });
  const router = createRouter({
    routeTree: createRootRoute({
      component: () => (
        <main>
          <HostActions host={of} />
        </main>
      ),
    }),
    history: createMemoryHistory(),
  });
  render(
    <QueryClientProvider client={client}>
      <RouterProvider router={router as never} />
    </QueryClientProvider>,
  );
}

it.each<[Role, string[]]>([
  ['viewer', []],
  ['operator', ['Disable']],
  ['admin', ['Disable', 'More']],
])('offers a %s what the role may do', async (role, offered) => {
  show(role, host('h'));
  await screen.findByRole('main');
  await waitFor(() =>
    expect(
      screen.queryAllByRole('button').map((each) => each.getAttribute('aria-label') ?? each.textContent),
    ).toEqual(offered),
  );
});

it.each([
  [0, 'Delete', ''],
  [1, 'End its runs and delete', '?force=true'],
])('deletes a host with %i active runs by "%s"', async (runs, button, query) => {
  const asked: string[] = [];
  vi.stubGlobal('fetch', async (input: Request | string | URL, init?: RequestInit) => {
    const request = new Request(input, init);
    asked.push(`${request.method} ${request.url.replace(/^.*\/api\/v1/, '')}`);
    return new Response(null, { status: 204 });
  });
  show('admin', { ...host('h'), active_runs: runs });
  fireEvent.click(await screen.findByRole('button', { name: 'More' }));
  fireEvent.click(await screen.findByRole('menuitem', { name: 'Delete…' }));
  const dialog = await screen.findByRole('dialog');
  expect(dialog.textContent?.includes('host_lost')).toBe(runs > 0);
  fireEvent.click(await screen.findByRole('button', { name: button }));
  await waitFor(() => expect(asked).toContain(`DELETE /hosts/${host('h').id}${query}`));
});
