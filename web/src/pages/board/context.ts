import { createContext, useContext } from 'react';
import type { Host, ItemStatus, Run, WorkItem } from '@/api/records';
import type { CardFacts } from '@/components/ItemCard';
import type { MoveItem } from '@/components/useItemMoves';
import { type Progress, unmet } from '@/data/board';
import type { Selection } from '@/lib/selection';
import type { ChangeSizes } from '@/live/patches';

/** BoardFacts has the facts that cards show in addition to their items. */
export interface BoardFacts {
  byId: Map<string, WorkItem>;
  progress: Map<string, Progress>;
  runs: Map<string, Run>;
  /** The items that wait for a person. */
  needsYou: ReadonlySet<string>;
  /** For each item, how many items below it wait for a person. */
  needsBelow: Map<string, number>;
  hosts: Map<string, Host>;
  /** The sizes of the changes in working copies. */
  changes: ChangeSizes;
}

/** CardActions are the actions on a card. The object does not change while the board is mounted. */
export interface CardActions {
  move: MoveItem;
  toggle: Selection['toggle'];
  setMenu(id: string | null): void;
  open(id: string): void;
  remove(item: WorkItem): void;
}

/** Board is the state that columns and lanes share. */
export interface Board {
  facts: BoardFacts;
  actions: CardActions;
  /** The item whose sheet is open. */
  selected: string | undefined;
  /** The selected cards, for bulk actions. */
  selection: Selection;
  /** The card that Tab reaches. The arrow keys change it. */
  active: string | undefined;
  /** The card whose menu is open. */
  menu: string | null;
  create(status: ItemStatus, parent?: WorkItem | null): void;
  /** For each column, a function that scrolls a card into view. */
  scrollers: Map<string, (id: string) => void>;
}

/** BoardContext passes the board to its columns and lanes. */
export const BoardContext = createContext<Board | null>(null);

/** useBoard returns the board of this column or lane. */
export function useBoard(): Board {
  const board = useContext(BoardContext);
  if (!board) throw new Error('a column is drawn outside a board');
  return board;
}

/** CardProps has everything that a card renders. A card whose props have not changed is not rendered again. */
export interface CardProps extends CardFacts {
  item: WorkItem;
  /** The parent of the card's lane; null: the lane of items without a parent; undefined: the board has no lanes. */
  lane?: string | null;
  actions: CardActions;
  /** Whether its sheet is open. */
  open: boolean;
  selected: boolean;
  /** Whether any card is selected. Then the checkboxes of the other cards are shown. */
  selecting: boolean;
  tabbable: boolean;
  menuOpen: boolean;
}

/** cardOf returns the props of an item's card. */
export function cardOf(board: Board, item: WorkItem, lane?: string | null): CardProps {
  const { facts, actions, selection } = board;
  const { id } = item;
  const run = facts.runs.get(id);
  return {
    item,
    lane,
    actions,
    parent: lane === undefined && item.parent_id ? facts.byId.get(item.parent_id) : undefined,
    progress: facts.progress.get(id),
    needsBelow: facts.needsBelow.get(id),
    unmet: unmet(item, facts.byId),
    run,
    host: run?.host_id ? facts.hosts.get(run.host_id) : undefined,
    change: run?.workspace_id ? facts.changes[run.workspace_id] : undefined,
    open: board.selected === id,
    selected: selection.has(id),
    selecting: selection.ids.length > 0,
    tabbable: board.active === id,
    menuOpen: board.menu === id,
  };
}
