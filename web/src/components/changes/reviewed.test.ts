import { expect, it } from 'vitest';
import { markOf, reviewedOf } from './reviewed';

it('a file that changes after it was read is no longer reviewed', () => {
  const mark = markOf('+one\n');
  expect(reviewedOf(undefined, '+one\n')).toBe('no');
  expect(reviewedOf(mark, undefined)).toBe('yes');
  expect(reviewedOf(mark, '+one\n')).toBe('yes');
  expect(reviewedOf(mark, '+eno\n')).toBe('changed');
  expect(reviewedOf(mark, '+one\n+two\n')).toBe('changed');
});
