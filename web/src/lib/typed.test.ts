import { act, renderHook } from '@testing-library/react';
import { expect, it } from 'vitest';
import { useTyped } from './typed';

it('keeps what is typed while the address is behind, and follows a link', () => {
  const sent: string[] = [];
  const { result, rerender } = renderHook(({ kept }) => useTyped(kept, (text) => sent.push(text)), {
    initialProps: { kept: '' },
  });
  act(() => result.current[1]('a'));
  act(() => result.current[1]('ab'));
  rerender({ kept: 'a' });
  expect(result.current[0]).toBe('ab');
  rerender({ kept: 'ab' });
  expect(result.current[0]).toBe('ab');
  expect(sent).toEqual(['a', 'ab']);
  rerender({ kept: 'from a link' });
  expect(result.current[0]).toBe('from a link');
  rerender({ kept: '' });
  expect(result.current[0]).toBe('');
});
