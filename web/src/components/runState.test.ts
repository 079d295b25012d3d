import { describe, expect, it } from 'vitest';
import { run } from '@/live/fixtures';
import { latestRuns, needsYou } from './runState';

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
