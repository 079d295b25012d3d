import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { createMemoryHistory, createRootRoute, createRouter, RouterProvider } from '@tanstack/react-router';
import { configure, fireEvent, render, screen } from '@testing-library/react';
import { expect, it, vi } from 'vitest';
import { NewProjectDialog } from './NewProjectDialog';

// The timeouts only end a test that hangs: a busy machine is slow.
configure({ asyncUtilTimeout: 30_000 });
vi.setConfig({ testTimeout: 60_000 });
it('takes a repository, and says there why the server refuses it', async () => {
  const sent: unknown[] = [];
  vi.stubGlobal('fetch', async (_: string, { body }: RequestInit) => {
    sent.push(JSON.parse(String(body)));
    const details = { fields: { repo: 'must be a URL or an absolute path' } };
    return Response.json({ error: { code: 'invalid', message: 'refused', details } }, { status: 400 });
  });
  const router = createRouter({
    routeTree: createRootRoute({ component: () => <NewProjectDialog open onClose={() => {}} /> }),
    history: createMemoryHistory(),
  });
  render(
    <QueryClientProvider client={new QueryClient()}>
      <RouterProvider router={router as never} />
    </QueryClientProvider>,
  );
  fireEvent.change(await screen.findByLabelText('Name'), { target: { value: 'Shed' } });
  fireEvent.change(screen.getByLabelText(/^Repository/), { target: { value: ' shed ' } });
  fireEvent.click(screen.getByRole('button', { name: 'Create project' }));
  expect(await screen.findByText(/must be a URL or an absolute path/i)).toBeTruthy();
  expect(screen.getByLabelText(/^Repository/).getAttribute('aria-invalid')).toBe('true');
  expect(screen.getByLabelText('Name').getAttribute('aria-invalid')).toBeNull();
  expect(sent).toEqual([{ name: 'Shed', repo: 'shed', cwd: '' }]);
});
