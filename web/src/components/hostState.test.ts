import { describe, expect, it } from 'vitest';
import type { Host } from '@/api/records';
import { hostState, hostWord, worstFirst } from './hostState';

const now = Date.parse('2026-01-01T12:00:00Z');
const host = (changes: Partial<Host>): Host => ({
  id: 'h',
  name: 'build-1',
  status: 'online',
  platform: 'linux/amd64',
  last_seen_at: '2026-01-01T11:59:50Z',
  connected: true,
  disconnected_since: null,
  instance_id: null,
  instance_suspect: false,
  suspect_instance_id: null,
  worker_key: null,
  suspect_worker_key: null,
  containment: 'off',
  scopes: 'off',
  catalog_hash: '',
  disk_free_bytes: null,
  max_runs: null,
  labels: {},
  active_runs: 0,
  providers: {},
  providers_reported_at: null,
  worker_version: '',
  created_at: '',
  updated_at: '',
  ...changes,
});

describe('hostWord', () => {
  it.each([
    [{ status: 'offline', instance_suspect: true }, 'offline'],
    [{ status: 'online', instance_suspect: true }, 'suspect'],
    [{ status: 'disabled', instance_suspect: true }, 'suspect'],
    [{ status: 'disabled' }, 'disabled'],
    [{ status: 'registered', last_seen_at: null }, 'never seen'],
    [{ status: 'online' }, 'online'],
  ] as [Partial<Host>, string][])('of %o is %s', (changes, word) => {
    expect(hostWord(host(changes))).toBe(word);
  });

  it('puts the worst first, then by name', () => {
    const hosts = [
      host({ name: 'b' }),
      host({ name: 'a' }),
      host({ status: 'disabled' }),
      host({ status: 'offline' }),
    ];
    expect(hosts.sort(worstFirst).map((each) => `${hostWord(each)} ${each.name}`)).toEqual([
      'offline build-1',
      'disabled build-1',
      'online a',
      'online b',
    ]);
  });
});

describe('hostState', () => {
  it('calls what it knows old after two missed heartbeats', () => {
    expect(hostState(host({}), now).stale).toBe(false);
    expect(hostState(host({}), now + 60_000)).toMatchObject({ word: 'online', stale: true });
  });

  it('never calls a host old that was never there', () => {
    expect(hostState(host({ status: 'registered', last_seen_at: null }), now).stale).toBe(false);
  });
});

describe('a worker that is not connected', () => {
  it('is told beside a status that is still online', () => {
    const state = hostState(host({ connected: false, disconnected_since: '2026-01-01T11:59:48Z' }), now);
    expect(state).toMatchObject({ word: 'online', tone: 'warn', away: 'not connected for 12 s' });
  });

  it('is not told beside offline, which says more', () => {
    const state = hostState(host({ status: 'offline', connected: false, disconnected_since: null }), now);
    expect(state.away).toBeUndefined();
  });
});

describe('a worker that refuses runs', () => {
  it('tells of a catalog with an error, and takes runs all the same', () => {
    const state = hostState(host({ catalog_error: 'providers.toml line 2: unknown key' }), now);
    expect(state.tone).toBe('warn');
    expect(state.away).toBeUndefined();
    expect(state.because).toContain('providers.toml line 2');
  });
  const refusing = {
    code: 'cooling_down',
    message: 'the folder of the sockets cannot be made',
    until: '2026-01-01T12:01:00Z',
  };

  it('is told beside online, with its reason', () => {
    const state = hostState(host({ refusing }), now);
    expect(state).toMatchObject({ word: 'online', tone: 'warn', away: 'takes no runs' });
    expect(state.because).toContain(refusing.message);
  });

  it('is not told beside offline, which says more', () => {
    expect(hostState(host({ refusing, status: 'offline', connected: false }), now).away).toBeUndefined();
  });
});
