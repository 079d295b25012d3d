import { describe, expect, it } from 'vitest';
import type { Run } from '@/api/records';
import { arrange, fits } from './arrange';

const run = (id: string, changes: Partial<Run>): Run =>
  ({
    id,
    status: 'running',
    needs_input: false,
    provider: 'demo',
    created_at: '2026-01-01T00:00:00Z',
    ended_at: null,
    ...changes,
  }) as Run;

describe('arrange', () => {
  it('puts what needs someone first, then what is at work, then what ended last', () => {
    const groups = arrange([
      run('old', { status: 'exited', ended_at: '2026-01-01T01:00:00Z' }),
      run('new', { status: 'failed', ended_at: '2026-01-01T02:00:00Z' }),
      run('busy', {}),
      run('asks', { needs_input: true }),
    ]);
    expect(groups.map((group) => [group.title, group.runs.map((each) => each.id)])).toEqual([
      ['Needs you', ['asks']],
      ['Active', ['busy']],
      ['Ended', ['new', 'old']],
    ]);
  });

  it('has no empty groups', () => {
    expect(arrange([])).toEqual([]);
  });
});

describe('fits', () => {
  it('combines status and provider', () => {
    expect(fits(run('a', {}), { status: 'active', provider: 'demo' })).toBe(true);
    expect(fits(run('a', {}), { status: 'active', provider: 'other' })).toBe(false);
    expect(fits(run('a', { status: 'failed' }), { status: 'active' })).toBe(false);
    expect(fits(run('a', { needs_input: true }), { status: 'needs-you' })).toBe(true);
    expect(fits(run('a', { status: 'pending' }), { status: 'running' })).toBe(false);
  });
});
