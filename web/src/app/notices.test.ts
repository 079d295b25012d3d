import { describe, expect, it } from 'vitest';
import type { InboxItem } from '@/api/schema.gen';
import { keysOf, noticesOf, shown } from './notices';

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
  expect(shown(true, '/runs/r', 'r')).toBe(false); // nobody looks at it
  for (const path of ['/runs/other', '/runs', '/inbox', '/']) expect(shown(false, path, 'r')).toBe(false);
});
