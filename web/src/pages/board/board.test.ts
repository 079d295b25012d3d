import { describe, expect, it } from 'vitest';
import { columnsOf } from '@/data/board';
import { item } from '@/live/fixtures';
import { dropMove } from './drop';
import { neighbour, placeOf, shove } from './useBoardKeys';

const items = [
  item('a'),
  item('b'),
  item('c', { status: 'done', parent_id: 'a', path: 'a/c' }),
  item('d', { status: 'done' }),
];
const [a] = items;
const columns = columnsOf(items);

describe('drops', () => {
  it('beside a card take its column and its place', () => {
    expect(dropMove(items, items[0] as never, { status: 'done', card: { id: 'c', edge: 'bottom' } })).toEqual(
      { status: 'done', after: 'c' },
    );
  });
  it('in free room go to the end of the column', () => {
    expect(dropMove(items, items[0] as never, { status: 'done' })).toEqual({ status: 'done', after: 'd' });
    expect(dropMove(items, items[0] as never, { status: 'doing' })).toEqual({ status: 'doing' });
  });
  it('in another lane change the parent, but never into the item itself', () => {
    expect(dropMove(items, items[3] as never, { status: 'done', parent_id: 'a' })).toEqual({
      status: 'done',
      parent_id: 'a',
      after: 'c',
    });
    expect(dropMove(items, a as never, { status: 'done', parent_id: 'c' })).toBeNull();
  });
});

describe('keys', () => {
  it('pass over empty columns and stop at the edges', () => {
    const from = placeOf(columns, 'b');
    if (!from) throw new Error('b is not on the board');
    expect(neighbour(columns, ['todo', 'doing', 'done'], from, 'ArrowRight')?.id).toBe('d');
    expect(neighbour(columns, ['todo', 'doing', 'done'], from, 'ArrowUp')?.id).toBe('a');
    expect(neighbour(columns, ['todo', 'doing', 'done'], from, 'ArrowLeft')).toBeUndefined();
    expect(shove(columns, from, 'ArrowRight')).toEqual({ status: 'doing' });
    expect(shove(columns, from, 'ArrowUp')).toEqual({ before: 'a' });
    expect(shove(columns, from, 'ArrowDown')).toBeNull();
  });
});
