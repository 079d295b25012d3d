import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { configure, render, screen } from '@testing-library/react';
import { expect, it, vi } from 'vitest';
import type { Run } from '@/api/records';
import { Changes } from './Changes';

// The timeouts only end a test that hangs: a busy machine is slow.
configure({ asyncUtilTimeout: 30_000 });
vi.setConfig({ testTimeout: 60_000 });
it('looks again while a checkpoint is on its way, of whose arrival no event tells', async () => {
  let asked = 0;
  vi.stubGlobal('fetch', async () => {
    asked += 1;
    return Response.json({
      id: 'w',
      checkpoint: 1,
      relayed_checkpoint: 0,
      error: asked > 1 ? 'the disk is full' : '',
    });
  });
  render(
    <QueryClientProvider client={new QueryClient()}>
      <Changes run={{ id: 'r', status: 'exited', workspace_id: 'w' } as Run} />
    </QueryClientProvider>,
  );
  expect(await screen.findByText(/shown here from the first checkpoint on/)).toBeTruthy();
  expect(await screen.findByText(/disk is full/)).toBeTruthy();
});
