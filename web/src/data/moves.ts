// Moves are shown before the server answers. Each move stores the fields that it changed. If the server refuses it, only
// those fields are reset, and only where no newer value has arrived.
import type { ItemStatus, WorkItem } from '@/api/records';
import type { PatchWorkItem } from '@/api/schema.gen';
import { rankBetween } from './rank';

/** Move is the change that a person asked for: another status, parent or position, or several of them. */
export interface Move {
  status?: ItemStatus;
  parent_id?: string | null;
  /** The item directly after the moved item's new position. */
  before?: string;
  /** The item directly before the moved item's new position. */
  after?: string;
}

type Fields = Pick<WorkItem, 'status' | 'parent_id' | 'position' | 'path' | 'status_source' | 'confidence'>;

/** Guess is the expected result of a move: the fields that it sets, and their values before. */
export interface Guess {
  id: string;
  set: Partial<Fields>;
  was: Partial<Fields>;
}

/** guess computes the expected result of a move. Null: the move changes nothing, so no request is needed. */
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

/** place computes a new position for the item. Null: the move has no target, or the item is there already. */
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

/** withGuess returns the list after the move. */
export function withGuess(items: WorkItem[], { id, set }: Guess): WorkItem[] {
  const next = items.map((item) => (item.id === id ? { ...item, ...set } : item));
  return set.position === undefined ? next : next.sort((a, b) => (a.position < b.position ? -1 : 1));
}

/** withoutGuess reverts a refused move: only its own fields, and only if they still have the expected values. */
export function withoutGuess(items: WorkItem[], { id, set, was }: Guess): WorkItem[] {
  const names = Object.keys(set) as (keyof Fields)[];
  const next = items.map((item) => {
    if (item.id !== id) return item;
    const back = names.filter((name) => item[name] === set[name]).map((name) => [name, was[name]]);
    return { ...item, ...Object.fromEntries(back) };
  });
  return set.position === undefined ? next : next.sort((a, b) => (a.position < b.position ? -1 : 1));
}

/** patchOf returns the body of the request for the move. */
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

/** undoOf returns the move that returns an item to its earlier place. */
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
