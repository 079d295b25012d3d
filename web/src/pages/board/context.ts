import { createContext, useContext } from 'react';
import type { Host, ItemStatus, Run, WorkItem } from '@/api/records';
import type { MoveItem } from '@/components/useItemMoves';
import type { Progress } from '@/data/board';
import type { Selection } from '@/lib/selection';
import type { ChangeSizes } from '@/live/patches';

/** Board is what columns and cards share. */
export interface Board {
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
  move: MoveItem;
  /** The item whose sheet is open. */
  selected: string | undefined;
  /** The cards that something is to be done to together. */
  selection: Selection;
  /** The card that Tab reaches; the arrow keys move it. */
  active: string | undefined;
  /** The card whose menu is open. */
  menu: string | null;
  setMenu(id: string | null): void;
  open(id: string): void;
  remove(item: WorkItem): void;
  create(status: ItemStatus, parent?: WorkItem | null): void;
  /** Columns say here how to bring a card into sight. */
  scrollers: Map<string, (id: string) => void>;
}

/** BoardContext carries the board to its cards. */
export const BoardContext = createContext<Board | null>(null);

/** useBoard is the board around this card. */
export function useBoard(): Board {
  const board = useContext(BoardContext);
  if (!board) throw new Error('a card is drawn outside a board');
  return board;
}
