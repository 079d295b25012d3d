import { describe, expect, it } from 'vitest';
import { countOf, sentenceOf, typistOf, type Watcher, type Watchers, watchWords } from './watchers';

const since = '2026-01-01T00:00:00.000Z';
/** list returns people by their names. * marks the holder of the lease, ! marks this page. */
const list = (names: string, more = 0): Watchers => ({
  people: names.split(' ').map(
    (name): Watcher => ({
      name: name.replace(/[*!]/g, ''),
      mode: 'attached',
      holds: name.includes('*'),
      you: name.includes('!'),
      since,
    }),
  ),
  more,
});

describe('who watches', () => {
  it.each([
    ['ann*!', 0, '', 'Nobody else is here'],
    ['ann!', 0, '', 'Nobody else is here'],
    ['ann*! ann', 0, '', 'Nobody else is here'],
    ['ann*! ben', 0, 'ben watches', 'You type, ben watches'],
    ['ann*! Ben Carl', 0, 'Ben and Carl watch', 'You type, Ben and Carl watch'],
    ['ann*! ben ben', 0, 'ben watches', 'You type, ben watches'],
    ['ann*! a b c d', 0, 'a, b, c and 1 more watch', 'You type, a, b, c and 1 more watch'],
    ['ann*! a b c', 9, 'a, b, c and 9 more watch', 'You type, a, b, c and 9 more watch'],
    ['Anna* ben!', 0, 'You watch', 'Anna types, you watch'],
    ['Anna* me! Ben', 0, 'You and Ben watch', 'Anna types, you and Ben watch'],
    ['Anna* Anna me!', 0, 'You watch', 'Anna types, you watch'],
    ['ann* ann!', 0, 'You watch', 'ann types, you watch'],
    ['ann! ben', 0, 'You and ben watch', 'Nobody types, you and ben watch'],
  ])('%s and %i more', (names, more, words, sentence) => {
    expect(watchWords(list(names, more))).toBe(words);
    expect(sentenceOf(list(names, more))).toBe(sentence);
  });

  it('names who else types, knows that nobody does, and leaves out this page', () => {
    expect(typistOf(list('ann* me!'))).toBe('ann');
    expect(typistOf(list('ann me!'))).toBeNull();
    expect(typistOf(list('ann me*!'))).toBeUndefined();
  });

  it('counts each person once', () => {
    expect(countOf(list('ann* ann me! ben', 4))).toBe(7);
  });
});
