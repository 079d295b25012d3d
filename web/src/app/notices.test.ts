import { describe, expect, it } from 'vitest';
import type { Run } from '@/api/records';
import { noticesOf, statesOf } from './notices';

const run = (changes: Partial<Run>): Run =>
  ({
    id: 'r',
    attempt: 1,
    status: 'running',
    needs_input: false,
    session_name: 'svc-1',
    task_title: 'Fix it',
    progress_message: null,
    failure_reason: null,
    error: null,
    exit_code: null,
    ...changes,
  }) as Run;
const titles = (before: Run[], after: Run[]): string[] =>
  noticesOf(statesOf(before), after).map((notice) => notice.title);

describe('noticesOf', () => {
  it('tells a question once, with its text', () => {
    const asks = run({ needs_input: true, progress_message: 'May I?' });
    expect(noticesOf(statesOf([run({})]), [asks])).toEqual([
      { runId: 'r', title: 'Fix it needs you', body: 'May I?' },
    ]);
    expect(titles([asks], [asks])).toEqual([]);
  });

  it('tells a failure, also of a run that was not known before', () => {
    const failed = run({ status: 'failed', exit_code: 3 });
    expect(titles([run({})], [failed])).toEqual(['Fix it failed']);
    expect(titles([], [failed])).toEqual(['Fix it failed']);
    expect(titles([failed], [failed])).toEqual([]);
  });

  it('tells the same thing again for another attempt', () => {
    expect(titles([run({ status: 'failed' })], [run({ status: 'failed', attempt: 2 })])).toEqual([
      'Fix it failed',
    ]);
  });

  it('says nothing of a run that goes on or ends well', () => {
    expect(titles([run({})], [run({ status: 'exited' })])).toEqual([]);
    expect(titles([run({ needs_input: true })], [run({})])).toEqual([]);
  });
});
