import { describe, expect, it } from 'vitest';
import { heldUntil, type Run } from '@/api/records';
import { host, run } from '@/live/fixtures';
import { calmRuns, canAttach, latestRuns, needsYou, runState } from './runState';

describe('the run that a work item shows', () => {
  const ended = { status: 'exited', ended_at: '2026-01-02T03:04:05.000Z' } as const;

  it('is the one that needs someone, also when a newer one runs', () => {
    const runs = latestRuns([run('newest'), run('asks', { needs_input: true }), run('old', ended)]);
    expect(runs.get('t')?.id).toBe('asks');
    expect([...needsYou(runs)]).toEqual(['t']);
  });

  it('is else the newest that is at work, else the newest', () => {
    expect(latestRuns([run('a', ended), run('b'), run('c')]).get('t')?.id).toBe('b');
    expect(latestRuns([run('a', ended), run('b', ended)]).get('t')?.id).toBe('a');
  });

  it('needs nobody once it has ended', () => {
    const runs = latestRuns([run('a', { ...ended, needs_input: true })]);
    expect(needsYou(runs).size).toBe(0);
  });
});

describe('a run whose host is away', () => {
  it('is not called quiet, and nobody can attach to it', () => {
    const silent = run('a', { last_output_at: '2026-01-02T03:04:05.000Z' });
    const later = Date.parse('2026-01-02T04:04:05.000Z');
    expect(runState(silent, host('h'), later).word).toBe('Quiet 1 h');
    expect(canAttach(silent, host('h'))).toBe(true);
    const away = host('h', { status: 'offline' });
    expect(runState(silent, away, later)).toMatchObject({ word: 'Host offline', stale: true });
    expect(canAttach(silent, away)).toBe(false);
  });
});

describe('a view of many runs', () => {
  it('is the same while agents only write, and another when anything else happens', () => {
    const select = calmRuns();
    const at = (time: string) => ({ last_output_at: `2026-01-02T03:${time}.000Z` });
    const [a, b] = [run('a', { task_id: 'x', ...at('04:05') }), run('b', { task_id: 'y' })];
    const first = select([a, b]);
    expect(select([{ ...a, ...at('04:59') }, b])).toBe(first);

    const later = select([{ ...a, ...at('05:05') }, b]);
    expect(later).not.toBe(first);
    expect(later.get('y')).toBe(first.get('y'));
    const asks = { ...a, needs_input: true, ...at('05:06') };
    expect(select([asks, b]).get('x')?.needs_input).toBe(true);
    expect(select([asks]).has('y')).toBe(false);
  });
});

describe('a run that ends again and again', () => {
  const now = Date.parse('2026-01-02T03:10:00.000Z');
  const word = (fields: Partial<Run>) =>
    runState(run('r', { restart_policy: 'always', max_restarts: 9, ...fields }), undefined, now).word;
  it('looks like a crash loop, also in the moments in which it runs', () => {
    expect(word({ attempt: 3, status: 'pending' })).toBe('Crash loop');
    expect(word({ attempt: 4, status: 'spawning' })).toBe('Crash loop');
    expect(word({ attempt: 4, started_at: '2026-01-02T03:09:30.000Z' })).toBe('Crash loop');
  });
  it('looks like it runs once it has lasted', () => {
    expect(word({ attempt: 4, started_at: '2026-01-02T03:08:00.000Z' })).toBe('Running');
  });
  it('is only restarted the first time, and queued before', () => {
    expect(word({ attempt: 2, status: 'pending' })).toBe('Restarting');
    expect(word({ attempt: 1, status: 'pending' })).toBe('Queued');
  });
  it('is held when someone holds it', () => {
    expect(word({ attempt: 2, status: 'pending', not_before: heldUntil })).toBe('Held');
    expect(word({ attempt: 1, status: 'pending', not_before: '2026-01-02T04:00:00.000Z' })).toBe('Queued');
  });
  it('needs you first, and is over when it is', () => {
    expect(word({ attempt: 5, needs_input: true })).toBe('Needs you');
    expect(word({ attempt: 5, status: 'failed' })).toBe('Failed');
  });
});
