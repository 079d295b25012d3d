// Moves are shown before the server answered. Each remembers what it changed, field by field, so that a
// refusal takes back only that, and only where nothing newer has come in meanwhile.
import type { ItemStatus, WorkItem } from '@/api/records';
import type { PatchWorkItem } from '@/api/schema.gen';
import { rankBetween } from './rank';

/** Move is what a person asked for: another status, parent or place, alone or together. */
export interface Move {
  status?: ItemStatus;
  parent_id?: string | null;
  /** The item that the moved one comes to stand directly before. */
  before?: string;
  /** The item that the moved one comes to stand directly after. */
  after?: string;
}

type Fields = Pick<WorkItem, 'status' | 'parent_id' | 'position' | 'path' | 'status_source' | 'confidence'>;

/** Guess is a move as it will probably be: the fields it sets, and what they were. */
export interface Guess {
  id: string;
  set: Partial<Fields>;
  was: Partial<Fields>;
}

/** guess is what a move does to an item. Null: it changes nothing, so there is nothing to send. */
export function guess(items: readonly WorkItem[], id: string, move: Move): Guess | null {
  const item = items.find((other) => other.id === id);
  if (!item) return null;
  const set: Partial<Fields> = {};
  if (move.status !== undefined && move.status !== item.status) set.status = move.status;
  if (move.parent_id !== undefined && move.parent_id !== item.parent_id) set.parent_id = move.parent_id;
  const position = place(items, item, move);
  if (position !== null && position !== item.position) set.position = position;
  const names = Object.keys(set) as (keyof Fields)[];
  if (names.length === 0) return null;
  return { id, set, was: Object.fromEntries(names.map((name) => [name, item[name]])) };
}

/** place is a position where the move wants the item; null: it stays, or already stands there. */
function place(items: readonly WorkItem[], item: WorkItem, { before, after }: Move): string | null {
  const anchor = before ?? after;
  if (!anchor || anchor === item.id) return null;
  const others = items.filter((other) => other.id !== item.id);
  const index = others.findIndex((other) => other.id === anchor);
  if (index < 0) return null;
  const left = others[before ? index - 1 : index]?.position ?? '';
  const right = others[before ? index : index + 1]?.position ?? '';
  if (left < item.position && (right === '' || item.position < right)) return null;
  return rankBetween(left, right);
}

/** withGuess is the list as it looks once the move is made. */
export function withGuess(items: WorkItem[], { id, set }: Guess): WorkItem[] {
  const next = items.map((item) => (item.id === id ? { ...item, ...set } : item));
  return set.position === undefined ? next : next.sort((a, b) => (a.position < b.position ? -1 : 1));
}

/** withoutGuess takes a refused move back: only its own fields, and only those that still are as guessed. */
export function withoutGuess(items: WorkItem[], { id, set, was }: Guess): WorkItem[] {
  const names = Object.keys(set) as (keyof Fields)[];
  const next = items.map((item) => {
    if (item.id !== id) return item;
    const back = names.filter((name) => item[name] === set[name]).map((name) => [name, was[name]]);
    return { ...item, ...Object.fromEntries(back) };
  });
  return set.position === undefined ? next : next.sort((a, b) => (a.position < b.position ? -1 : 1));
}

/** patchOf is the request that makes the move. */
export function patchOf(move: Move, { set }: Guess): PatchWorkItem {
  const patch: PatchWorkItem = {};
  if (set.status !== undefined) patch.status = set.status;
  if (set.parent_id !== undefined) patch.parent_id = set.parent_id;
  if (set.position !== undefined) {
    if (move.before) patch.before = move.before;
    else patch.after = move.after;
  }
  return patch;
}

/** undoOf is the move that brings an item back to where it stood. */
export function undoOf(items: readonly WorkItem[], { id, was }: Guess): Move {
  const move: Move = {};
  if (was.status !== undefined) move.status = was.status;
  if (was.parent_id !== undefined) move.parent_id = was.parent_id;
  if (was.position !== undefined) {
    const index = items.findIndex((item) => item.id === id);
    const next = items[index + 1];
    const previous = items[index - 1];
    if (next) move.before = next.id;
    else if (previous) move.after = previous.id;
  }
  return move;
}
