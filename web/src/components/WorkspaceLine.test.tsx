import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { configure, render, screen } from '@testing-library/react';
import { describe, expect, it, vi } from 'vitest';
import type { Workspace } from '@/api/schema.gen';
import { CachePatcher } from '@/live/cache';
import { run, workspace } from '@/live/fixtures';
import { WorkspaceLine } from './WorkspaceLine';
import { workspaceWords } from './workspaceWords';

// The timeouts only end a test that hangs: a busy machine is slow.
configure({ asyncUtilTimeout: 30_000 });
vi.setConfig({ testTimeout: 60_000 });
const started = '2026-01-02T03:04:10.000Z';
const now = Date.parse('2026-01-02T03:10:00.000Z');
const based: Partial<Workspace> = {
  base_commit: '3f2a91c0ffee',
  base_ref: 'main',
  base_fetched_at: '2026-01-02T03:04:06.000Z',
};
const kept: Partial<Workspace> = {
  ...based,
  state: 'busy',
  checkpoint: 2,
  relayed_checkpoint: 2,
  files: 6,
  additions: 120,
  deletions: 14,
  observed_at: '2026-01-02T03:09:48.000Z',
};

describe('the words of a working copy', () => {
  const says = (fields: Partial<Workspace>, started_at: string | null = started): string =>
    workspaceWords(workspace('w', fields), { started_at }, now)
      .map(({ text }) => text)
      .join(' · ');

  it.each<[string, Partial<Workspace>, string]>([
    ['preparing', {}, 'being prepared'],
    ['at work', kept, 'base 3f2a91c of main, fetched 4 s before start · +120 −14 in 6 files · kept 12 s ago'],
    [
      'begun',
      { ...based, state: 'busy' },
      'base 3f2a91c of main, fetched 4 s before start · nothing kept yet',
    ],
    [
      'unchanged',
      { ...based, state: 'ready', checkpoint: 1, relayed_checkpoint: 1 },
      'base 3f2a91c of main, fetched 4 s before start · nothing changed · kept',
    ],
    [
      'failed',
      { state: 'failed', error: 'base_unavailable: git fetch: no route: to host' },
      'its base could not be fetched: git fetch: no route: to host',
    ],
    ['failed setup', { state: 'failed', error: 'setup_failed: exit 3' }, 'its setup failed: exit 3'],
    ['failed otherwise', { state: 'failed', error: 'disk full' }, 'could not be prepared: disk full'],
  ])('%s', (_, fields, words) => expect(says(fields)).toBe(words));

  it('tells what is on its host only', () => {
    expect(says({ ...kept, checkpoint: 3 })).toContain('on its host only, and on its way');
    expect(says({ ...kept, checkpoint: 3, error: 'on_host_only: the checkpoint is larger' })).toContain(
      'too large to be sent and is on its host only',
    );
    expect(says({ ...kept, checkpoint: 3 })).not.toContain('kept');
  });

  it('tells what became of the work', () => {
    const landed = { ...kept, landed_commit: 'abcdef0123', landed_into: 'main', landed_checkpoint: 2 };
    expect(says(landed)).toContain('landed into main as abcdef0 ·');
    expect(says({ ...landed, checkpoint: 3, relayed_checkpoint: 3 })).toContain('newer work has not landed');
    expect(says({ ...kept, discarded_at: '2026-01-02T03:00:00.000Z' })).toContain('discarded 10 min ago');
    expect(says({ ...kept, state: 'missing' })).toMatch(/^its folder is gone from its host/);
    expect(says({ ...kept, state: 'removed' })).toMatch(/^removed from its host/);
  });

  it('says when its base was fetched, by the start when there is one', () => {
    expect(says(based, null)).toContain('fetched 5 min ago');
    expect(says(based, '2026-01-02T03:04:06.500Z')).toContain('fetched at its start');
    expect(says(based, '2026-01-02T03:04:01.000Z')).toContain('fetched 5 s after start');
  });
});

it('follows the events of its working copy', async () => {
  let stored = workspace('w');
  vi.stubGlobal('fetch', async () => Response.json(stored));
  const client = new QueryClient({ defaultOptions: { queries: { staleTime: Number.POSITIVE_INFINITY } } });
  render(
    <QueryClientProvider client={client}>
      <WorkspaceLine id="w" run={run('r', { started_at: started })} />
    </QueryClientProvider>,
  );
  expect(await screen.findByText('being prepared')).toBeTruthy();
  stored = workspace('w', kept);
  new CachePatcher(client).apply([
    { seq: 1, topic: 'workspace.checkpointed', payload: { workspace_id: 'w' } },
  ]);
  expect(await screen.findByText('+120 −14 in 6 files')).toBeTruthy();
  expect(screen.queryByText('being prepared')).toBeNull();
});

it('says that there is no record any more', async () => {
  vi.stubGlobal('fetch', async () =>
    Response.json({ error: { code: 'not_found', message: 'no such workspace' } }, { status: 404 }),
  );
  render(
    <QueryClientProvider client={new QueryClient({ defaultOptions: { queries: { retry: false } } })}>
      <WorkspaceLine id="w" run={run('r')} />
    </QueryClientProvider>,
  );
  expect(await screen.findByText('no longer on record')).toBeTruthy();
});
