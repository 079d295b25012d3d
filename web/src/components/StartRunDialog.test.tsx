import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { createMemoryHistory, createRootRoute, createRouter, RouterProvider } from '@tanstack/react-router';
import { configure, fireEvent, render, screen, waitFor } from '@testing-library/react';
import { expect, it, vi } from 'vitest';
import { keys } from '@/data/keys';
import { item, project, provider, run } from '@/live/fixtures';
import { StartRunDialog } from './StartRunDialog';
import { openStartRun } from './startRun';

// The timeouts only end a test that hangs: a busy machine is slow.
configure({ asyncUtilTimeout: 30_000 });
vi.setConfig({ testTimeout: 60_000 });
/** open renders the dialog for a task of a project with this folder, and returns the bodies that it sends. */
async function open(cwd: string): Promise<unknown[]> {
  const sent: unknown[] = [];
  vi.stubGlobal('fetch', async (_: string, { method, body }: RequestInit) => {
    if (method === 'POST') sent.push(JSON.parse(String(body)));
    return Response.json(method === 'POST' ? run('new', { status: 'pending' }) : { items: [] });
  });
  const client = new QueryClient({ defaultOptions: { queries: { staleTime: Infinity } } });
  client.setQueryData(keys.projects, [project('p', { cwd })]);
  client.setQueryData(keys.hosts, []);
  client.setQueryData(keys.providers, [provider('demo')]);
  openStartRun(item('t', { project_id: 'p' }));
  const router = createRouter({
    routeTree: createRootRoute({ component: StartRunDialog }),
    history: createMemoryHistory(),
  });
  render(
    <QueryClientProvider client={client}>
      <RouterProvider router={router as never} />
    </QueryClientProvider>,
  );
  await screen.findByRole('button', { name: /^Start/ });
  return sent;
}

it('asks where the agent works when the project has no folder', async () => {
  const sent = await open('');
  fireEvent.change(screen.getByLabelText(/^Working directory/), { target: { value: '/srv/shop' } });
  expect(screen.getByText(/^The project has none\./)).toBeTruthy();
  fireEvent.click(screen.getByRole('button', { name: /^Start/ }));
  await waitFor(() => expect(sent).toHaveLength(1));
  expect(sent[0]).toMatchObject({ task_id: 't', cwd: '/srv/shop' });
});

it('does not ask for it when the project has one', async () => {
  await open('/srv/shop');
  expect(screen.queryByText(/^The project has none\./)).toBeNull();
});
