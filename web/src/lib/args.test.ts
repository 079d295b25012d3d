import { expect, it } from 'vitest';
import { splitArgs } from './args';

it('splits arguments as a shell does', () => {
  expect(splitArgs(`  --a 'b c' "d \\" e" f\\ g '' h'i'j `)).toEqual([
    '--a',
    'b c',
    'd " e',
    'f g',
    '',
    'hij',
  ]);
  expect(splitArgs('')).toEqual([]);
});

it('refuses an open quote', () => {
  expect(splitArgs("'a")).toBeNull();
  expect(splitArgs('a "b')).toBeNull();
});
