import { describe, expect, it } from 'vitest';
import type { Event } from '@/api/records';
import { collapse } from './collapse';

let seq = 1000;
const event = (topic: Event['topic'], run: string, payload: Record<string, unknown> = {}): Event => ({
  seq: seq--,
  topic,
  created_at: '',
  payload: { run_id: run, ...payload },
});
const progress = (run: string, needs = false): Event =>
  event('run.signal_received', run, { kind: 'progress', needs_input: needs });

describe('collapse', () => {
  it('keeps the newest of a run that reports in a row, also with others between', () => {
    const newest = progress('a');
    const entries = collapse([newest, progress('b'), progress('a'), progress('a'), progress('b')]);
    expect(entries.map(({ event: { payload }, earlier }) => [payload.run_id, earlier])).toEqual([
      ['a', 2],
      ['b', 1],
    ]);
    expect(entries[0]?.event).toBe(newest);
  });

  it('never hides a question or anything else that happened', () => {
    const entries = collapse([progress('a'), progress('a', true), progress('a'), event('run.started', 'a')]);
    expect(entries).toHaveLength(4);
    expect(entries.every(({ earlier }) => earlier === 0)).toBe(true);
  });
});
