import { describe, expect, it } from 'vitest';
import { headOf } from './Reason';

describe('headOf', () => {
  it('ends before paths and advice', () => {
    expect(headOf('no executable "x" in PATH (/usr/bin:/bin); install it or set bin')).toBe(
      'no executable "x"',
    );
    expect(headOf('exit code 3; run the doctor on that host to see')).toBe('exit code 3');
  });

  it('leaves a short reason whole', () => {
    expect(headOf('not installed')).toBe('not installed');
    expect(headOf('a (b) c')).toBe('a (b) c');
  });
});
