import { create } from 'zustand';
import type { Bulk, Outcome } from '@/data/bulk';
import { toast } from '@/ui/toast';

/** BulkActionOf is one thing to do to many. */
export interface BulkActionOf<T> {
  /** What the dialog asks, and what it says will happen; both only where it is confirmed. */
  title?: string;
  about?: string;
  button?: string;
  danger?: boolean;
  items: readonly T[];
  nameOf(item: T): string;
  act: Bulk<T>;
  /** What is said when it is done. */
  said(done: number): string;
  /** Absent: it cannot be undone. */
  undo?: Bulk<T>;
  /** Called when it is over and something was done. */
  after?(): void;
}

/** BulkOutcome is what came of it, in words. */
export interface BulkOutcome {
  done: number;
  refused: { name: string; why: string }[];
  undo?(): Promise<BulkOutcome>;
}

/** BulkAction is a BulkActionOf, whatever it is done to. */
export interface BulkAction
  extends Pick<BulkActionOf<never>, 'title' | 'about' | 'button' | 'danger' | 'said' | 'after'> {
  names: string[];
  act(through: (count: number) => void): Promise<BulkOutcome>;
}

interface BulkState {
  /** What the dialog is about; null: it is closed. */
  action: BulkAction | null;
  /** How many it is through with; null: it has not begun. */
  through: number | null;
  /** What came of it; null: it is not over. */
  outcome: BulkOutcome | null;
}

const closed: BulkState = { action: null, through: null, outcome: null };

/** useBulkAction is what the dialog of bulk actions shows. */
export const useBulkAction = create<BulkState>(() => closed);

/** closeBulk closes the dialog. */
export function closeBulk(): void {
  const { action, outcome } = useBulkAction.getState();
  useBulkAction.setState(closed);
  if (outcome && outcome.done > 0) action?.after?.();
}

/** confirmBulk asks before it is done. */
export const confirmBulk = <T>(action: BulkActionOf<T>): void =>
  useBulkAction.setState({ ...closed, action: inWords(action) });

/** doBulk does it at once; the dialog opens only for what was refused. */
export const doBulk = <T>(action: BulkActionOf<T>): Promise<void> => perform(inWords(action));

/** perform does it and tells what came of it. */
export async function perform(action: BulkAction): Promise<void> {
  const asked = useBulkAction.getState().action === action;
  if (asked) useBulkAction.setState({ through: 0 });
  const outcome = await action.act((through) => asked && useBulkAction.setState({ through }));
  const { done, refused, undo } = outcome;
  if (done > 0) {
    toast(action.said(done), {
      action: undo && { label: 'Undo', onClick: () => void undo().then(tellUndone) },
    });
  }
  useBulkAction.setState({ action, outcome });
  if (refused.length === 0) closeBulk();
}

function tellUndone({ refused }: BulkOutcome): void {
  if (refused.length === 0) toast('Undone');
  else toast.error(`${refused.length} could not be undone`, { description: refused[0]?.why });
}

function inWords<T>({ items, nameOf, act, undo, ...rest }: BulkActionOf<T>): BulkAction {
  const told = ({ done, refused }: Outcome<T>): BulkOutcome => ({
    done: done.length,
    refused: refused.map(({ item, why }) => ({ name: nameOf(item), why })),
    ...(undo && done.length > 0 && { undo: async () => told(await undo(done)) }),
  });
  return { ...rest, names: items.map(nameOf), act: async (through) => told(await act(items, through)) };
}
