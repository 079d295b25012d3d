import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { act, configure, renderHook, waitFor } from '@testing-library/react';
import type { ReactNode } from 'react';
import { expect, it, vi } from 'vitest';
import { run } from '@/live/fixtures';
import { useStartRuns } from './actions';

// The timeouts only end a test that hangs: a busy machine is slow.
configure({ asyncUtilTimeout: 30_000 });
vi.setConfig({ testTimeout: 60_000 });

it('several runs start in one step; a refused one leaves those before it, and a second try repeats their keys', async () => {
  const asked: { key: string | null; provider: string; model: string }[] = [];
  let refuse = true;
  vi.stubGlobal('fetch', async (_: string, init: RequestInit) => {
    const { provider, model } = JSON.parse(String(init.body)) as { provider: string; model: string };
    asked.push({ key: new Headers(init.headers).get('Idempotency-Key'), provider, model });
    return refuse && provider === 'b'
      ? Response.json({ error: { code: 'validation', message: 'no such model' } }, { status: 400 })
      : Response.json(run(provider), { status: 201 });
  });
  const client = new QueryClient();
  const { result } = renderHook(() => useStartRuns(), {
    wrapper: ({ children }: { children: ReactNode }) => (
      <QueryClientProvider client={client}>{children}</QueryClientProvider>
    ),
  });
  const order = {
    key: 'k',
    body: { task_id: 't', prompt: 'Go' },
    with: [
      { provider: 'a', model: '' },
      { provider: 'b', model: 'large' },
      { provider: 'a', model: 'small' },
    ],
  };
  act(() => result.current.mutate(order));
  await waitFor(() => expect(result.current.isError).toBe(true));
  expect(result.current.started).toBe(1);
  expect(asked).toEqual([
    { key: 'k', provider: 'a', model: '' },
    { key: 'k-1', provider: 'b', model: 'large' },
  ]);

  refuse = false;
  asked.length = 0;
  act(() => result.current.mutate(order));
  await waitFor(() => expect(result.current.data).toHaveLength(3));
  expect(asked.map(({ key }) => key)).toEqual(['k', 'k-1', 'k-2']);
});
