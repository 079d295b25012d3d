import { expect, it } from 'vitest';
import { bytes } from './bytes';

it.each([
  [0, '0 B'],
  [999, '999 B'],
  [1000, '1.0 kB'],
  [9_960, '10 kB'],
  [999_600, '1.0 MB'],
  [12_345_678_901, '12 GB'],
  [2e18, '2000 PB'],
])('%d bytes are %s', (count, text) => expect(bytes(count)).toBe(text));
