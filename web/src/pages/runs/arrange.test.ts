import { describe, expect, it } from 'vitest';
import type { Run } from '@/api/records';
import { arrange, wantedOf } from './arrange';

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

describe('the status filter', () => {
  it('asks for active runs, ended ones, or both', () => {
    expect(wantedOf(undefined)).toEqual({
      active: ['pending', 'spawning', 'running'],
      ended: ['exited', 'failed', 'stopped'],
    });
    expect(wantedOf('failed')).toEqual({ active: [], ended: ['failed'] });
    expect(wantedOf('pending')).toEqual({ active: ['pending'], ended: [] });
    expect(wantedOf('needs-you')).toMatchObject({ ended: [], needs_input: 'true' });
  });
});
