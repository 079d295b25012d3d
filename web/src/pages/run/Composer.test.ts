import { describe, expect, it } from 'vitest';
import type { RunDetail } from '@/api/schema.gen';
import { host, run } from '@/live/fixtures';
import { takesMessages, willHappen } from './Composer';

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
