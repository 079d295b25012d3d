import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import {
  createMemoryHistory,
  createRootRoute,
  createRoute,
  createRouter,
  RouterProvider,
} from '@tanstack/react-router';
import { act, cleanup, configure, render, screen, waitFor } from '@testing-library/react';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { InboxItem } from '@/api/schema.gen';
import { keys } from '@/data/keys';
import { setPref } from '@/lib/prefs';
import { useNeedsYou } from './useNeedsYou';

// The timeouts only end a test that hangs: a busy machine is slow.
configure({ asyncUtilTimeout: 30_000 });
vi.setConfig({ testTimeout: 60_000 });

/** SentNotification records the notifications that were passed to the browser. */
class SentNotification {
  static readonly permission = 'granted';
  static all: SentNotification[] = [];
  onclick = (): void => {};
  constructor(
    readonly title: string,
    readonly options: NotificationOptions,
  ) {
    SentNotification.all.push(this);
  }
  close(): void {}
}

const asks = (i: number): InboxItem => ({
  key: `needs_input/${i}`,
  kind: 'needs_input',
  title: `Task ${i}`,
  text: 'May I?',
  since: '2026-01-02T03:04:05.000Z',
  snoozed_until: null,
  run_id: `r${i}`,
  task_id: 't',
  project_id: 'p',
  host_id: null,
  workspace_id: null,
});

/** open renders a page with the hook. It returns a function that sets the entries of the inbox. */
async function open() {
  const client = new QueryClient({ defaultOptions: { queries: { staleTime: Number.POSITIVE_INFINITY } } });
  const put = async (...entries: InboxItem[]) => {
    client.setQueryData(keys.inbox(false), entries);
    await waitFor(() => expect(document.title).toMatch(new RegExp(`^\\(${entries.length}\\)`)));
  };
  client.setQueryData(keys.inbox(false), []);
  function Page() {
    useNeedsYou();
    return <p>the page</p>;
  }
  const root = createRootRoute({ component: Page });
  const routes = ['/', '/inbox', '/runs/$runId'].map((path) =>
    createRoute({ getParentRoute: () => root, path }),
  );
  const router = createRouter({
    routeTree: root.addChildren(routes),
    history: createMemoryHistory(),
  });
  render(
    <QueryClientProvider client={client}>
      {/* biome-ignore lint/suspicious/noExplicitAny: a router of its own, not the registered one */}
      <RouterProvider router={router as any} />
    </QueryClientProvider>,
  );
  await screen.findByText('the page');
  return { put, path: () => router.state.location.pathname };
}

beforeEach(() => {
  SentNotification.all = [];
  vi.stubGlobal('Notification', SentNotification);
  setPref('notify', true);
});
afterEach(() => {
  cleanup();
  setPref('notify', false);
  vi.unstubAllGlobals();
});

it('tells of a run that comes to need someone, once, and leads there', async () => {
  const { put, path } = await open();
  await put(asks(1));
  await put(asks(1));
  expect(SentNotification.all.map(({ title, options }) => [title, options.body, options.tag])).toEqual([
    ['Task 1 needs you', 'May I?', 'r1'],
  ]);
  act(() => SentNotification.all[0]?.onclick());
  await waitFor(() => expect(path()).toBe('/runs/r1'));
});

it('tells of many at once in one, which leads to the inbox', async () => {
  const { put, path } = await open();
  await put(...[1, 2, 3, 4, 5].map(asks));
  expect(SentNotification.all.map(({ title }) => title)).toEqual(['5 runs need you']);
  act(() => SentNotification.all[0]?.onclick());
  await waitFor(() => expect(path()).toBe('/inbox'));
});

it('says nothing to those who did not ask for it, nor later of what came meanwhile', async () => {
  setPref('notify', false);
  const { put } = await open();
  await put(asks(1));
  act(() => setPref('notify', true));
  expect(SentNotification.all).toEqual([]);
});
