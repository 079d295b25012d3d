import { describe, expect, it } from 'vitest';
import { item } from '@/live/fixtures';
import { guess, type Move, patchOf, undoOf, withGuess, withoutGuess } from './moves';
import { rankBetween } from './rank';

const items = [item('B'), item('D'), item('F', { status: 'doing' }), item('H')];
const ids = (list: { id: string }[]): string => list.map(({ id }) => id).join('');
const made = (id: string, move: Move) => {
  const result = guess(items, id, move);
  if (!result) throw new Error('the move changes nothing');
  return result;
};

describe('rankBetween', () => {
  it('is between its neighbours, however close they are', () => {
    const pairs: [string, string][] = [
      ['', ''],
      ['', '1'],
      ['', '01'],
      ['a', ''],
      ['z', ''],
      ['zz', ''],
      ['a', 'b'],
      ['a', 'a1'],
      ['a01', 'a02'],
      ['800001', '800002'],
      ['az', 'b'],
    ];
    for (const [a, b] of pairs) {
      const rank = rankBetween(a, b);
      expect(rank > a, `${rank} after ${a}`).toBe(true);
      if (b) expect(rank < b, `${rank} before ${b}`).toBe(true);
      expect(rank.endsWith('0')).toBe(false);
    }
  });

  it('finds room a thousand times at one place', () => {
    let low = '800001';
    for (let i = 0; i < 1000; i++) {
      const rank = rankBetween(low, '800002');
      expect(rank > low && rank < '800002').toBe(true);
      low = rank;
    }
  });
});

describe('moves', () => {
  it('change only what differs', () => {
    expect(guess(items, 'B', { status: 'todo' })).toBeNull();
    expect(made('B', { status: 'done' }).set).toEqual({ status: 'done' });
    expect(guess(items, 'B', { before: 'D' })).toBeNull();
    expect(guess(items, 'gone', { status: 'done' })).toBeNull();
  });

  it('put an item directly before or after another', () => {
    expect(ids(withGuess(items, made('H', { before: 'D' })))).toBe('BHDF');
    expect(ids(withGuess(items, made('B', { after: 'F' })))).toBe('DFBH');
    expect(ids(withGuess(items, made('B', { after: 'H' })))).toBe('DFHB');
    expect(ids(withGuess(items, made('H', { before: 'B' })))).toBe('HBDF');
  });

  it('are sent as fields and neighbours, never as ranks', () => {
    const move = { status: 'doing', before: 'F' } as const;
    expect(patchOf(move, made('H', move))).toEqual({ status: 'doing', before: 'F' });
    const stays = { status: 'doing', after: 'F' } as const;
    expect(patchOf(stays, made('H', stays))).toEqual({ status: 'doing' });
  });

  it('are taken back field by field, where nothing newer came in', () => {
    const move = made('B', { status: 'done', after: 'H' });
    const shown = withGuess(items, move);
    expect(withoutGuess(shown, move)).toEqual(items);
    const newer = shown.map((each) =>
      each.id === 'B' ? { ...each, status: 'cancelled' as const, title: 'other' } : each,
    );
    const back = withoutGuess(newer, move).find(({ id }) => id === 'B');
    expect(back).toMatchObject({ status: 'cancelled', title: 'other', position: 'B' });
  });

  it('can be undone', () => {
    for (const [id, move] of [
      ['B', { status: 'done', after: 'H' }],
      ['H', { before: 'B' }],
      ['D', { parent_id: 'B' }],
    ] as [string, Move][]) {
      const there = made(id, move);
      const shown = withGuess(items, there);
      const back = guess(shown, id, undoOf(items, there));
      if (!back) throw new Error('there is nothing to undo');
      const undone = withGuess(shown, back);
      expect(ids(undone)).toBe(ids(items));
      expect(undone.find((each) => each.id === id)).toMatchObject({ status: 'todo', parent_id: null });
    }
  });
});
