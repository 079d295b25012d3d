import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { configure, render, screen } from '@testing-library/react';
import { beforeEach, expect, it, vi } from 'vitest';
import type { Host } from '@/api/records';
import { host } from '@/live/fixtures';
import { HostFacts } from './HostFacts';

// The timeouts only end a test that hangs: a busy machine is slow.
configure({ asyncUtilTimeout: 30_000 });
vi.setConfig({ testTimeout: 60_000 });
beforeEach(() => {
  vi.stubGlobal('fetch', async () => Response.json({ info: { version: '2.0.0' } }));
});

function show(fields: Partial<Host>): (name: string) => string {
  render(
    <QueryClientProvider client={new QueryClient()}>
      <HostFacts host={host('h', fields)} />
    </QueryClientProvider>,
  );
  return (name) => screen.getByText(name).nextElementSibling?.textContent ?? '';
}
const before = (ms: number): string => new Date(Date.now() - ms).toISOString();

it('tells of disk, containment, scopes and the worker’s version', async () => {
  const fact = show({ disk_free_bytes: 123e9, containment: 'bwrap', scopes: 'on', worker_version: '1.9.0' });
  expect(fact('Free disk')).toBe('123 GB');
  expect(fact('Containment')).toMatch(/^on: bubblewrap/);
  expect(fact('Scopes')).toMatch(/^on:/);
  expect(fact('Connection')).toBe('its worker is connected');
  expect(await screen.findByText(/while the server is 2\.0\.0/)).toBeTruthy();
  expect(fact('Worker')).toBe('1.9.0, while the server is 2.0.0');
  expect(screen.queryByText('Clock')).toBeNull();
});

it('says what too little disk means', () => {
  const refusing = { code: 'disk_low', message: '1 GB is free', until: before(-3_660_000) };
  const fact = show({ disk_free_bytes: 1e9, refusing });
  expect(fact('Free disk')).toBe('1.0 GB: 1 GB is free. It takes no new runs and checks again in 1 h.');
});

it('tells for how long a worker is away, and of a clock that is off', () => {
  const fact = show({ connected: false, disconnected_since: before(9_000_000), clock_ahead_ms: -90_000 });
  expect(fact('Connection')).toBe('not connected for 2 h');
  expect(fact('Clock')).toBe('1 min behind the server’s');
});

it('never makes up what a worker did not say', () => {
  const fact = show({
    containment: '',
    scopes: '',
    worker_version: '',
    connected: false,
    last_seen_at: null,
  });
  for (const name of ['Free disk', 'Containment', 'Scopes', 'Worker']) expect(fact(name)).toBe('not known');
  expect(fact('Connection')).toBe('never was connected');
});
