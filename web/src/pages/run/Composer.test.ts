import { describe, expect, it } from 'vitest';
import type { RunDetail } from '@/api/schema.gen';
import { host, run } from '@/live/fixtures';
import { takesMessages, willHappen } from './Composer';
import { continuationOf } from './ContinueRun';

const detail = (fields: object = {}): RunDetail =>
  ({ ...run('a'), lease: null, ...fields }) as unknown as RunDetail;
const words = (fields: object, when: 'now' | 'turn_end' = 'now', queued = 0): string =>
  willHappen(detail(fields), when, queued).words;

describe('a message to an agent', () => {
  it('says what will happen to it', () => {
    expect(words({})).toBe('It is pasted into the session now and submitted.');
    expect(words({}, 'turn_end', 2)).toBe(
      'It is given to the agent when its turn ends, after the 2 that wait.',
    );
    expect(words({ needs_input: true })).toBe('The agent asks something: this is typed as the answer.');
    const held = detail({ lease: { holder: 'ann', attached_at: '' } });
    expect(willHappen(held, 'now', 0)).toMatchObject({
      may: false,
      words: expect.stringMatching(/^ann types/),
    });
  });

  it('is offered while its tool takes messages', () => {
    const paste = host('h', { providers: { demo: { available: true, message: 'paste' } } });
    expect(takesMessages(detail(), paste)).toBe(true);
    expect(takesMessages(detail({ status: 'exited' }), paste)).toBe(false);
    expect(takesMessages(detail(), host('h', { providers: { demo: { available: true } } }))).toBe(false);
    expect(takesMessages(detail(), undefined)).toBe(false);
  });
});

describe('a message to a run that is over', () => {
  const resumes = host('h', { name: 'build-1', providers: { demo: { available: true, resumes: true } } });
  const conversation = { id: 'c', source: 'minted', resumed: 'no' };

  it('goes on with the conversation where the tool can', () => {
    expect(continuationOf(detail({ status: 'exited', conversation, workspace_id: 'w' }), resumes)).toEqual({
      fresh: false,
      words: 'A new run continues this conversation on build-1, in the same working copy.',
    });
  });

  it('says that another conversation begins where it cannot, and is not offered where nothing goes on', () => {
    const over = detail({ status: 'failed', conversation: null, workspace_id: 'w' });
    expect(continuationOf(over, resumes)).toMatchObject({
      fresh: true,
      words: expect.stringMatching(/^demo cannot continue/),
    });
    expect(
      continuationOf(detail({ status: 'exited', conversation: null, workspace_id: null }), resumes),
    ).toBeNull();
    expect(
      continuationOf(detail({ status: 'running', conversation, workspace_id: 'w' }), resumes),
    ).toBeNull();
  });
});
