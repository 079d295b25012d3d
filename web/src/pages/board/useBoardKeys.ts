import { type KeyboardEvent, useCallback, useState } from 'react';
import { type ItemStatus, isRunnable, itemStatuses, type WorkItem } from '@/api/records';
import { openStartRun } from '@/components/startRun';
import { statusNames } from '@/components/status';
import type { MoveItem } from '@/components/useItemMoves';
import type { Columns, Lane } from '@/data/board';
import type { Move } from '@/data/moves';
import { focusSoon } from '@/lib/focus';

/** Place is a card's column and its index in the column. */
interface Place {
  status: ItemStatus;
  index: number;
}

/** placeOf finds a card on the board. */
export function placeOf(columns: Columns, id: string): Place | null {
  for (const status of itemStatuses) {
    const index = columns[status].findIndex((item) => item.id === id);
    if (index >= 0) return { status, index };
  }
  return null;
}

/** neighbour returns the card to which an arrow key moves. Empty columns are skipped. */
export function neighbour(
  columns: Columns,
  statuses: readonly ItemStatus[],
  from: Place,
  key: string,
): WorkItem | undefined {
  if (key === 'ArrowUp') return columns[from.status][from.index - 1];
  if (key === 'ArrowDown') return columns[from.status][from.index + 1];
  const step = key === 'ArrowLeft' ? -1 : 1;
  for (let i = statuses.indexOf(from.status) + step; i >= 0 && i < statuses.length; i += step) {
    const column = columns[statuses[i] as ItemStatus];
    if (column.length > 0) return column[Math.min(from.index, column.length - 1)];
  }
  return undefined;
}

/** laneNeighbour does the same on a board with lanes: it returns the adjacent card, in the same lane or the next. */
export function laneNeighbour(
  lanes: readonly Lane[],
  statuses: readonly ItemStatus[],
  id: string,
  key: string,
): WorkItem | undefined {
  const at = lanes.findIndex((lane) => placeOf(lane.columns, id));
  const lane = lanes[at];
  const from = lane && placeOf(lane.columns, id);
  if (!from) return undefined;
  const near = neighbour(lane.columns, statuses, from, key);
  if (near || key === 'ArrowLeft' || key === 'ArrowRight') return near;
  const further = key === 'ArrowUp' ? lanes.slice(0, at).reverse() : lanes.slice(at + 1);
  const column = further.map((each) => each.columns[from.status]).find((each) => each.length > 0);
  return key === 'ArrowUp' ? column?.at(-1) : column?.[0];
}

/** moveByKey returns the move for Shift and an arrow key. Null: the card is at the edge. */
export function moveByKey(columns: Columns, from: Place, key: string): Move | null {
  if (key === 'ArrowUp' || key === 'ArrowDown') {
    const other = columns[from.status][from.index + (key === 'ArrowUp' ? -1 : 1)];
    if (!other) return null;
    return key === 'ArrowUp' ? { before: other.id } : { after: other.id };
  }
  const status = itemStatuses[itemStatuses.indexOf(from.status) + (key === 'ArrowLeft' ? -1 : 1)];
  return status ? { status } : null;
}

/** useBoardKeys makes the board usable with the keyboard only. */
export function useBoardKeys({
  columns,
  lanes,
  statuses,
  move,
  scrollers,
  openMenu,
  select,
}: {
  columns: Columns;
  /** The lanes; null: the board has none. */
  lanes: Lane[] | null;
  statuses: ItemStatus[];
  move: MoveItem;
  scrollers: Map<string, (id: string) => void>;
  openMenu(id: string): void;
  select(id: string): void;
}) {
  const [active, setActive] = useState<string>();

  const focusCard = useCallback(
    (id: string, status: ItemStatus) => {
      setActive(id);
      (scrollers.get(status) ?? scrollers.get('lanes'))?.(id);
      focusSoon(`[data-card-focus="${id}"]`);
    },
    [scrollers],
  );

  const onKeyDown = (event: KeyboardEvent): void => {
    const id = (event.target as Element).closest<HTMLElement>('[data-card-focus]')?.dataset.cardFocus;
    const from = id && placeOf(columns, id);
    if (!id || !from || event.ctrlKey || event.metaKey || event.altKey) return;
    const item = columns[from.status][from.index] as WorkItem;
    const number = ['1', '2', '3', '4'].indexOf(event.key);
    if (event.key.startsWith('Arrow')) {
      event.preventDefault();
      if (!event.shiftKey) {
        const next = lanes
          ? laneNeighbour(lanes, statuses, id, event.key)
          : neighbour(columns, statuses, from, event.key);
        if (next) focusCard(next.id, next.status);
        return;
      }
      const lane = lanes?.find((each) => placeOf(each.columns, id));
      const made = lane
        ? moveByKey(lane.columns, placeOf(lane.columns, id) as Place, event.key)
        : moveByKey(columns, from, event.key);
      if (!made) return;
      const status = made.status ?? item.status;
      void move(item, made, `“${item.title}” ${made.status ? `is in ${statusNames[made.status]}` : 'moved'}`);
      focusCard(id, status);
    } else if (number >= 0) {
      const status = itemStatuses[number] as ItemStatus;
      void move(item, { status }, `“${item.title}” is in ${statusNames[status]}`);
      focusCard(id, status);
    } else if (event.key === 'm') {
      event.preventDefault();
      openMenu(id);
    } else if (event.key === 'x') {
      event.preventDefault();
      select(id);
    } else if (event.key === 'r' && isRunnable(item)) {
      event.preventDefault();
      openStartRun(item);
    }
  };
  return { active, setActive, onKeyDown };
}
