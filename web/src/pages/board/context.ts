import { createContext, useContext } from 'react';
import type { Host, ItemStatus, Run, WorkItem } from '@/api/records';
import type { CardFacts } from '@/components/ItemCard';
import type { MoveItem } from '@/components/useItemMoves';
import { type Progress, unmet } from '@/data/board';
import type { Selection } from '@/lib/selection';
import type { ChangeSizes } from '@/live/patches';

/** BoardFacts is what cards show beside their items. */
export interface BoardFacts {
  byId: Map<string, WorkItem>;
  progress: Map<string, Progress>;
  runs: Map<string, Run>;
  /** The items that need someone. */
  needsYou: ReadonlySet<string>;
  /** How many below an item need someone. */
  needsBelow: Map<string, number>;
  hosts: Map<string, Host>;
  /** How large the changes in working copies are. */
  changes: ChangeSizes;
}

/** CardActions is what can be done with a card. It stays the same for as long as the board is there. */
export interface CardActions {
  move: MoveItem;
  toggle: Selection['toggle'];
  setMenu(id: string | null): void;
  open(id: string): void;
  remove(item: WorkItem): void;
}

/** Board is what columns and lanes share. */
export interface Board {
  facts: BoardFacts;
  actions: CardActions;
  /** The item whose sheet is open. */
  selected: string | undefined;
  /** The cards that something is to be done to together. */
  selection: Selection;
  /** The card that Tab reaches; the arrow keys move it. */
  active: string | undefined;
  /** The card whose menu is open. */
  menu: string | null;
  create(status: ItemStatus, parent?: WorkItem | null): void;
  /** Columns say here how to bring a card into sight. */
  scrollers: Map<string, (id: string) => void>;
}

/** BoardContext carries the board to its columns and lanes. */
export const BoardContext = createContext<Board | null>(null);

/** useBoard is the board around this column or lane. */
export function useBoard(): Board {
  const board = useContext(BoardContext);
  if (!board) throw new Error('a column is drawn outside a board');
  return board;
}

/** CardProps is all that a card is drawn from: one whose props are as they were is not drawn again. */
export interface CardProps extends CardFacts {
  item: WorkItem;
  /** The parent whose lane it is in; null: that of items without one; undefined: the board has no lanes. */
  lane?: string | null;
  actions: CardActions;
  /** Its sheet is open. */
  open: boolean;
  selected: boolean;
  /** Some card is selected, so a click on the checkbox of another is likely. */
  selecting: boolean;
  tabbable: boolean;
  menuOpen: boolean;
}

/** cardOf is the props of an item's card. */
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
