import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { createMemoryHistory, createRootRoute, createRouter, RouterProvider } from '@tanstack/react-router';
import { cleanup, configure, render, screen, waitFor } from '@testing-library/react';
import { afterEach, expect, it, vi } from 'vitest';
import type { Role } from '@/api/records';
import { keys } from '@/data/keys';
import { host } from '@/live/fixtures';
import { HostActions } from './HostActions';

// Limits are there to end what hangs: a busy machine takes long.
configure({ asyncUtilTimeout: 30_000 });
vi.setConfig({ testTimeout: 60_000 });
afterEach(cleanup);

it.each<[Role, string[]]>([
  ['viewer', []],
  ['operator', ['Disable']],
  ['admin', ['Disable', 'More']],
])('offers a %s what the role may do', async (role, offered) => {
  const client = new QueryClient({ defaultOptions: { queries: { staleTime: Number.POSITIVE_INFINITY } } });
  client.setQueryData(keys.me, { name: 'ann', role, expires_at: null });
  const router = createRouter({
    routeTree: createRootRoute({
      component: () => (
        <main>
          <HostActions host={host('h')} />
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
  await screen.findByRole('main');
  await waitFor(() =>
    expect(
      screen.queryAllByRole('button').map((each) => each.getAttribute('aria-label') ?? each.textContent),
    ).toEqual(offered),
  );
});
