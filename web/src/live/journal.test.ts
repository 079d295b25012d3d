import { describe, expect, it } from 'vitest';
import type { Event, Run } from '@/api/records';
import { type JournalPages, passes, patchHistory, patchJournal, patchRun, patchRunEvents } from './patches';
import type { JournalEvent } from './protocol';

const event = (seq: number, topic = 'run.started', run = 'r'): JournalEvent => ({
  seq,
  topic,
  payload: { run_id: run, attempt: 1 },
});
const kept = (seq: number): Event => ({
  ...event(seq),
  topic: 'run.started',
  created_at: '2026-01-01T00:00:00.000Z',
});
const journal = (...seqs: number[]): JournalPages => ({
  pages: [
    { items: seqs.map(kept), next_cursor: 'more' },
    { items: [kept(1)], next_cursor: null },
  ],
  pageParams: [undefined, 'more'],
});
const seqs = (pages: JournalPages): number[] =>
  pages.pages.flatMap((page) => page.items.map((item) => item.seq));

describe('patchJournal', () => {
  it('puts a new event in front, once', () => {
    const next = patchJournal(journal(5, 4), [], event(6));
    expect(seqs(next)).toEqual([6, 5, 4, 1]);
    expect(patchJournal(next, [], event(6))).toBe(next);
  });

  it('keeps the order when an event was overtaken', () => {
    expect(seqs(patchJournal(journal(7, 4), [], event(6)))).toEqual([7, 6, 4, 1]);
  });

  it('leaves out what its topics do not name, and snapshots', () => {
    const now = journal(5);
    expect(patchJournal(now, ['worker.*'], event(6))).toBe(now);
    expect(patchJournal(now, [], event(6, 'snapshot'))).toBe(now);
    expect(patchJournal(now, ['run.st*'], event(6))).not.toBe(now);
  });
});

describe('patchHistory', () => {
  it('takes what happens to its own subject, and no output', () => {
    const now = journal(5);
    const of = (topic: string, payload: JournalEvent['payload']): JournalEvent => ({
      seq: 6,
      topic,
      payload,
    });
    expect(seqs(patchHistory(now, 'task_id', 't', of('work_item.unblocked', { task_id: 't' })))).toEqual([
      6, 5, 1,
    ]);
    expect(
      seqs(patchHistory(now, 'host_id', 'h', of('run.started', { task_id: 't', host_id: 'h' }))),
    ).toEqual([6, 5, 1]);
    expect(patchHistory(now, 'task_id', 't', of('work_item.unblocked', { task_id: 'other' }))).toBe(now);
    expect(patchHistory(now, 'task_id', 't', of('run.output_appended', { task_id: 't' }))).toBe(now);
  });
});

describe('passes', () => {
  it.each([
    ['run.started', ['run.*'], true],
    ['run.started', ['run.st*'], true],
    ['run.spawning', ['run.st*'], false],
    ['runxstarted', ['run.*'], false],
    ['run.started', ['worker.*', 'run.started'], true],
    ['anything', [], true],
  ])('%s of %o is %s', (topic, globs, is) => {
    expect(passes(topic, globs)).toBe(is);
  });
});

describe('patchRunEvents', () => {
  it('takes only what a timeline shows of its own run', () => {
    const events = [kept(3)];
    expect(patchRunEvents(events, 'r', event(4)).map((each) => each.seq)).toEqual([4, 3]);
    expect(patchRunEvents(events, 'r', event(4, 'run.started', 'other'))).toBe(events);
    expect(patchRunEvents(events, 'r', event(4, 'run.output_appended'))).toBe(events);
  });
});

describe('patchRun', () => {
  it('follows who holds the keyboard where the detail is known', () => {
    const run = { id: 'r', attempt: 1, status: 'running', lease: null } as unknown as Run;
    const acquired: JournalEvent = {
      seq: 9,
      topic: 'run.lease_acquired',
      payload: { run_id: 'r', attempt: 1, timestamp: '2026-01-01T00:00:00.000Z' },
    };
    const held = patchRun(run, acquired);
    expect(held).toMatchObject({ lease: { attached_at: '2026-01-01T00:00:00.000Z' } });
    expect(patchRun(held, { ...acquired, topic: 'run.lease_released' })).toMatchObject({ lease: null });
    const { lease: _, ...plain } = run as Run & { lease: null };
    expect(patchRun(plain as Run, acquired)).toBe(plain);
  });
});
