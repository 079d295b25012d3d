import type { ItemStatus, WorkItem } from '@/api/records';
import { isWithin } from '@/data/board';
import type { Move } from '@/data/moves';

/** DropTarget is where a card was dropped: beside a card, or in the empty part of a column. */
export interface DropTarget {
  status: ItemStatus;
  /** The lane's parent; undefined: the board has no lanes, and the parent does not change. */
  parent_id?: string | null;
  card?: { id: string; edge: 'top' | 'bottom' };
}

/** dropMove returns the move for a drop. Null: the move is not possible. */
export function dropMove(items: readonly WorkItem[], item: WorkItem, target: DropTarget): Move | null {
  const move: Move = { status: target.status };
  if (target.parent_id !== undefined) {
    const parent = items.find((other) => other.id === target.parent_id);
    if (parent && isWithin(parent, item)) return null;
    move.parent_id = target.parent_id;
  }
  if (target.card) {
    if (target.card.edge === 'top') move.before = target.card.id;
    else move.after = target.card.id;
    return move;
  }
  const last = items.findLast(
    (other) =>
      other.status === target.status &&
      other.id !== item.id &&
      (target.parent_id === undefined || other.parent_id === target.parent_id),
  );
  if (last) move.after = last.id;
  return move;
}
