import { describe, expect, it } from 'vitest';
import type { InboxItem } from '@/api/schema.gen';
import { keysOf, NoticeGrouper, noticesOf, shown } from './notices';

const entry = (key: string, changes: Partial<InboxItem> = {}): InboxItem => ({
  key,
  kind: 'needs_input',
  title: 'Fix it',
  text: 'May I?',
  since: '2026-01-02T03:04:05.000Z',
  snoozed_until: null,
  run_id: 'r',
  task_id: 't',
  project_id: 'p',
  host_id: null,
  workspace_id: null,
  ...changes,
});

describe('noticesOf', () => {
  it('tells a question once, with its text', () => {
    const asks = entry('1');
    expect(noticesOf(keysOf([]), [asks])).toEqual([
      { runId: 'r', title: 'Fix it needs you', body: 'May I?' },
    ]);
    expect(noticesOf(keysOf([asks]), [asks])).toEqual([]);
  });

  it('tells a failure, and the same thing again when it happens again', () => {
    const failed = entry('1', { kind: 'failed' });
    expect(noticesOf(keysOf([]), [failed])[0]?.title).toBe('Fix it failed');
    expect(noticesOf(keysOf([failed]), [entry('2', { kind: 'failed' })])).toHaveLength(1);
  });

  it('says nothing of changes to review and of hosts', () => {
    const inbox = [entry('1', { kind: 'review' }), entry('2', { kind: 'host', run_id: null, host_id: 'h' })];
    expect(noticesOf(keysOf([]), inbox)).toEqual([]);
  });
});

it('is not needed in a tab that shows the very run, and in no other', () => {
  expect(shown(false, '/runs/r', 'r')).toBe(true);
  expect(shown(false, '/runs/r/', 'r')).toBe(true);
  expect(shown(true, '/runs/r', 'r')).toBe(false); // the tab is hidden
  for (const path of ['/runs/other', '/runs', '/inbox', '/']) expect(shown(false, path, 'r')).toBe(false);
});

describe('NoticeGrouper', () => {
  const notices = (from: number, count: number) =>
    Array.from({ length: count }, (_, i) => ({
      runId: `r${from + i}`,
      title: `Task ${from + i} needs you`,
      body: '',
    }));

  it('tells a few one by one', () => {
    const grouper = new NoticeGrouper();
    expect(grouper.next(notices(1, 2), 0)).toEqual(notices(1, 2));
    expect(grouper.next(notices(3, 1), 1000)).toEqual(notices(3, 1));
    expect(grouper.next([], 2000)).toEqual([]);
  });

  it('tells many at once in one, with the first titles', () => {
    const [digest, ...more] = new NoticeGrouper().next(notices(1, 7), 0);
    expect(more).toEqual([]);
    expect(digest).toMatchObject({ runId: null, title: '7 runs need you' });
    expect(digest?.body.split('\n')).toEqual([1, 2, 3, 4, 5].map((i) => `Task ${i} needs you`));
  });

  it('adds to a digest what comes soon after it, and begins anew later', () => {
    const grouper = new NoticeGrouper();
    grouper.next(notices(1, 4), 0);
    grouper.next(notices(5, 3), 1000);
    expect(grouper.next(notices(8, 2), 2000)[0]?.title).toBe('6 runs need you');
    expect(grouper.next(notices(10, 1), 40_000)).toEqual(notices(10, 1));
  });

  it('counts a run once, and tells of one run alone by its own name', () => {
    const grouper = new NoticeGrouper();
    grouper.next(notices(1, 3), 0);
    const [question] = notices(4, 1);
    expect(grouper.next(notices(4, 1), 1000)).toEqual([question]);
    expect(grouper.next(notices(4, 1), 2000)).toEqual([question]);
    expect(grouper.next(notices(5, 1), 3000)[0]?.title).toBe('2 runs need you');
  });
});
