import { describe, expect, it } from 'vitest';
import { item } from '@/live/fixtures';
import { columnsOf, laneRows, lanesOf, needsBelow, progressOf, treeRows, unmet, visible } from './board';

const items = [
  item('a', { kind: 'epic' }),
  item('b', { parent_id: 'a', path: 'a/b', status: 'done', title: 'Fix the login' }),
  item('c', { parent_id: 'a', path: 'a/c', status: 'cancelled' }),
  item('d', { parent_id: 'b', path: 'a/b/d', kind: 'subtask' }),
  item('e', { parent_id: 'gone', path: 'gone/e', status: 'doing' }),
];
const ids = (list: readonly { id: string }[]): string => list.map(({ id }) => id).join('');

describe('the board', () => {
  it('filters by level and by every word', () => {
    expect(ids(visible(items, { levels: ['task'], words: '' }))).toBe('bce');
    expect(ids(visible(items, { levels: [], words: 'LOGIN fix' }))).toBe('b');
    expect(visible(items, { levels: ['epic'], words: 'fix' })).toEqual([]);
  });

  it('has a column for each status', () => {
    const columns = columnsOf(items);
    expect([ids(columns.todo), ids(columns.doing), ids(columns.done), ids(columns.cancelled)]).toEqual([
      'ad',
      'e',
      'b',
      'c',
    ]);
  });

  it('puts what needs someone on top of its column, and counts it for what stands above', () => {
    const waiting = new Set(['d', 'c']);
    expect(ids(columnsOf(items, waiting).todo)).toBe('da');
    expect(ids(lanesOf(items, items, new Set(['d']))[0]?.columns.cancelled ?? [])).toBe('c');
    expect([...needsBelow(items, waiting)]).toEqual([
      ['a', 2],
      ['b', 1],
    ]);
  });

  it('counts children without the cancelled ones', () => {
    expect(progressOf(items).get('a')).toEqual({ done: 1, total: 1 });
    expect(progressOf(items).get('d')).toBeUndefined();
  });

  it('groups by parent, those without one last, also when the parent is filtered away', () => {
    const lanes = lanesOf(items, visible(items, { levels: ['task', 'subtask'], words: '' }));
    expect(lanes.map(({ parent, count }) => [parent?.id ?? null, count])).toEqual([
      ['a', 2],
      ['b', 1],
      [null, 1],
    ]);
    const rows = laneRows(lanes, ['todo', 'doing', 'done']);
    expect(rows.filter((row) => row.type === 'title')).toHaveLength(3);
    expect(rows).toHaveLength(6);
  });
});

describe('the tree', () => {
  it('shows what is below open items, and orphans at the top', () => {
    expect(treeRows(items, new Set()).map(({ item: { id }, depth }) => `${id}${depth}`)).toEqual([
      'a0',
      'b1',
      'd2',
      'c1',
      'e0',
    ]);
    expect(treeRows(items, new Set(['a'])).map(({ item: { id }, open }) => `${id}${open}`)).toEqual([
      'afalse',
      'efalse',
    ]);
  });
});

it('counts the needs that are not done; a cancelled one is not', () => {
  const waits = item('c', { needs: ['a', 'b', 'd'], blocked: true });
  const items = [item('a', { status: 'done' }), item('b', { status: 'cancelled' }), waits, item('d')];
  const byId = new Map(items.map((each) => [each.id, each]));
  expect(unmet(waits, byId)).toBe(2);
  expect(unmet({ ...waits, needs: [] }, byId)).toBe(0);
  expect(unmet({ ...waits, status: 'done' }, byId)).toBeUndefined();
  expect(unmet({ ...waits, blocked: false }, byId)).toBeUndefined();
});
