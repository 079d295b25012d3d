import { act, renderHook } from '@testing-library/react';
import { expect, it } from 'vitest';
import { useSelection } from './selection';

const open = (order: string[]) =>
  renderHook(({ order }: { order: string[] }) => useSelection(order), { initialProps: { order } });

it('selects one after the other, in the order of the list', () => {
  const { result } = open(['a', 'b', 'c']);
  act(() => result.current.toggle('c'));
  act(() => result.current.toggle('a'));
  expect(result.current.ids).toEqual(['a', 'c']);
  act(() => result.current.toggle('c'));
  expect(result.current.ids).toEqual(['a']);
  expect(result.current.has('c')).toBe(false);
});

it('selects a range from the last one, in either direction', () => {
  const { result } = open(['a', 'b', 'c', 'd', 'e']);
  act(() => result.current.toggle('d'));
  act(() => result.current.toggle('b', true));
  expect(result.current.ids).toEqual(['b', 'c', 'd']);
  act(() => result.current.toggle('e', true));
  expect(result.current.ids).toEqual(['b', 'c', 'd', 'e']);
});

it('selects just one where a range has no beginning', () => {
  const { result } = open(['a', 'b']);
  act(() => result.current.toggle('b', true));
  expect(result.current.ids).toEqual(['b']);
});

it('never holds what has left the list', () => {
  const { result, rerender } = open(['a', 'b', 'c']);
  act(() => result.current.all());
  rerender({ order: ['a', 'c'] });
  expect(result.current.ids).toEqual(['a', 'c']);
  act(() => result.current.clear());
  expect(result.current.ids).toEqual([]);
});
