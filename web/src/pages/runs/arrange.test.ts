import { describe, expect, it } from 'vitest';
import { run } from '@/live/fixtures';
import { arrange, found, wantedOf } from './arrange';

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

it('sorts what has not ended as wanted, and never what has', () => {
  const runs = [
    run('new', { created_at: '3', last_output_at: '9' }),
    run('old', { created_at: '1', last_output_at: '4' }),
    run('over-old', { status: 'exited', created_at: '0', ended_at: '1' }),
    run('over-new', { status: 'exited', created_at: '0', ended_at: '2' }),
  ];
  const ids = (order?: string) => arrange(runs, order).map((group) => group.runs.map(({ id }) => id));
  expect(ids()).toEqual([
    ['new', 'old'],
    ['over-new', 'over-old'],
  ]);
  expect(ids('oldest')[0]).toEqual(['old', 'new']);
  expect(ids('quiet')[0]).toEqual(['old', 'new']);
  expect(ids('oldest')[1]).toEqual(['over-new', 'over-old']);
});

it('finds a run by the name and number of its task, its id and its prompt', () => {
  const one = run('1a2b3c4d', {
    task_title: 'Paint the shed',
    project_slug: 'house',
    task_number: 12,
    prompt_excerpt: 'Use green',
  });
  const runs = [one, run('other')];
  for (const search of ['shed PAINT', 'house-12', '1a2b', 'green'])
    expect(found(runs, search)).toEqual([one]);
  expect(found(runs, 'shed blue')).toEqual([]);
  expect(found(runs, ' ')).toBe(runs);
});

it('shows crash loops before what is well, and lets no queue hide what runs', () => {
  const runs = [
    run('waits', { status: 'pending' }),
    run('loops', { attempt: 4, status: 'pending' }),
    run('runs'),
  ];
  expect(arrange(runs).map((group) => [group.title, group.runs.map(({ id }) => id)])).toEqual([
    ['Crash loops', ['loops']],
    ['Active', ['runs']],
    ['Queued', ['waits']],
  ]);
});
