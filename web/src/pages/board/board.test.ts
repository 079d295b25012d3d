import { describe, expect, it } from 'vitest';
import { idle, runsOf } from '@/components/ItemSelection';
import { columnsOf, lanesOf } from '@/data/board';
import { item, run } from '@/live/fixtures';
import { dropMove } from './drop';
import { laneNeighbour, moveByKey, neighbour, placeOf } from './useBoardKeys';

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
    expect(moveByKey(columns, from, 'ArrowRight')).toEqual({ status: 'doing' });
    expect(moveByKey(columns, from, 'ArrowUp')).toEqual({ before: 'a' });
    expect(moveByKey(columns, from, 'ArrowDown')).toBeNull();
  });

  it('follow the lanes as they are seen', () => {
    const [p, q] = [item('p', { kind: 'epic' }), item('q', { kind: 'epic' })];
    const below = (id: string, parent: string) => item(id, { parent_id: parent, path: `${parent}/${id}` });
    // By position they alternate. On the page each lane shows its own two.
    const tasks = [below('1', 'p'), below('2', 'q'), below('3', 'p'), below('4', 'q')];
    const lanes = lanesOf([p, q, ...tasks], tasks);
    const next = (id: string, key: string) => laneNeighbour(lanes, ['todo', 'doing', 'done'], id, key)?.id;
    expect(['1', '3', '2', '4'].map((id) => next(id, 'ArrowDown'))).toEqual(['3', '2', '4', undefined]);
    expect(['1', '3', '2', '4'].map((id) => next(id, 'ArrowUp'))).toEqual([undefined, '1', '3', '2']);
  });
});

it('acts on the runs of selected cards: those at work, else the newest', () => {
  const runs = [
    run('b2', { task_id: 'b', status: 'exited' }),
    run('a3', { task_id: 'a', status: 'exited' }),
    run('a2', { task_id: 'a', status: 'running' }),
    run('a1', { task_id: 'a', status: 'pending' }),
    run('b1', { task_id: 'b', status: 'failed' }),
    run('c1', { task_id: 'c', status: 'running' }),
  ];
  expect(runsOf(runs, [item('a'), item('b')]).map(({ id }) => id)).toEqual(['a2', 'a1', 'b2']);
});

it('starts the tasks of a selection that are not over and have no run under way', () => {
  const chosen = [
    item('free'),
    item('busy', { status: 'doing' }),
    item('over', { status: 'done' }),
    item('epic', { kind: 'epic' }),
    item('again', { kind: 'subtask' }),
  ];
  const runs = [run('b', { task_id: 'busy' }), run('x', { task_id: 'again', status: 'failed' })];
  expect(idle(chosen, runs).map(({ id }) => id)).toEqual(['free', 'again']);
});
