import { expect, it } from 'vitest';
import { host, item, run } from '@/live/fixtures';
import { type Board, cardOf } from './context';

const parent = item('e', { kind: 'epic' });
const task = item('t', { parent_id: 'e', path: 'e/t' });
const board: Board = {
  facts: {
    byId: new Map([parent, task].map((each) => [each.id, each])),
    progress: new Map([['e', { done: 0, total: 1 }]]),
    runs: new Map([['t', run('r', { task_id: 't', host_id: 'h' })]]),
    needsYou: new Set(),
    needsBelow: new Map(),
    hosts: new Map([['h', host('h')]]),
    changes: {},
  },
  actions: { move: async () => {}, toggle() {}, setMenu() {}, open() {}, remove() {} },
  selected: undefined,
  selection: { ids: [], has: () => false, toggle() {}, all() {}, clear() {} },
  active: 'e',
  menu: null,
  create() {},
  scrollers: new Map(),
};

it('a card is drawn from the same things until something of its own changes', () => {
  const before = cardOf(board, task);
  const changed = (change: Partial<Board>): string[] =>
    Object.entries(cardOf({ ...board, ...change }, task))
      .filter(([name, value]) => !Object.is(value, before[name as keyof typeof before]))
      .map(([name]) => name);
  expect(before).toMatchObject({ parent, run: { id: 'r' }, host: { id: 'h' }, tabbable: false });
  expect(changed({ active: 'other', menu: 'e', selected: 'e', facts: { ...board.facts } })).toEqual([]);
  expect(changed({ active: 't' })).toEqual(['tabbable']);
  expect(changed({ menu: 't' })).toEqual(['menuOpen']);
  expect(changed({ selected: 't' })).toEqual(['open']);
});

it('a card in a lane does not repeat whose lane it is', () => {
  expect(cardOf(board, task, 'e').parent).toBeUndefined();
});
