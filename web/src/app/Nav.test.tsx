import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { createMemoryHistory, createRootRoute, createRouter, RouterProvider } from '@tanstack/react-router';
import { cleanup, configure, render, screen } from '@testing-library/react';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { BottomBar, Nav } from './Nav';

// Limits are there to end what hangs: a busy machine takes long.
configure({ asyncUtilTimeout: 30_000 });
vi.setConfig({ testTimeout: 60_000 });

const nothing = (): void => {};
const bars = {
  'the nav': (inbox: number) => (
    <Nav project={null} inbox={inbox} narrow={false} onSearch={nothing} onHelp={nothing} />
  ),
  'the bar on phones': (inbox: number) => <BottomBar project={null} inbox={inbox} onSearch={nothing} />,
};

afterEach(cleanup);

describe.each(Object.entries(bars))('%s', (_, bar) => {
  const open = (inbox: number): void => {
    const router = createRouter({
      routeTree: createRootRoute({ component: () => bar(inbox) }),
      history: createMemoryHistory(),
    });
    render(
      <QueryClientProvider client={new QueryClient()}>
        <RouterProvider router={router} />
      </QueryClientProvider>,
    );
  };

  it('names the inbox by its word, then by how much is in it', async () => {
    open(3);
    expect(await screen.findByRole('link', { name: 'Inbox, 3 to see to' })).toBeTruthy();
  });

  it('counts nothing when the inbox is empty', async () => {
    open(0);
    expect(await screen.findByRole('link', { name: 'Inbox' })).toBeTruthy();
  });
});
