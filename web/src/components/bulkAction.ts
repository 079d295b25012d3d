import { create } from 'zustand';
import type { Bulk, Outcome } from '@/data/bulk';
import { toast } from '@/ui/toast';

/** BulkActionOf is one action on many records of type T. */
export interface BulkActionOf<T> {
  /** The question of the dialog, and the description of what will happen. Needed only for confirmBulk. */
  title?: string;
  about?: string;
  button?: string;
  danger?: boolean;
  items: readonly T[];
  nameOf(item: T): string;
  act: Bulk<T>;
  /** said returns the message that is shown afterwards. */
  said(done: number): string;
  /** undo reverts the action. Absent: the action cannot be undone. */
  undo?: Bulk<T>;
  /** after is called when the dialog closes, if the action was done for at least one record. */
  after?(): void;
}

/** BulkOutcome is the result of a bulk action, with the names of the refused records. */
export interface BulkOutcome {
  done: number;
  refused: { name: string; why: string }[];
  undo?(): Promise<BulkOutcome>;
}

/** BulkAction is a BulkActionOf independent of the type of its records. */
export interface BulkAction
  extends Pick<BulkActionOf<never>, 'title' | 'about' | 'button' | 'danger' | 'said' | 'after'> {
  names: string[];
  act(through: (count: number) => void): Promise<BulkOutcome>;
}

interface BulkState {
  /** The action that the dialog shows; null: the dialog is closed. */
  action: BulkAction | null;
  /** How many records have been processed; null: the action has not started. */
  through: number | null;
  /** The result; null: the action has not finished. */
  outcome: BulkOutcome | null;
}

const closed: BulkState = { action: null, through: null, outcome: null };

/** useBulkAction is the state of the dialog for bulk actions. */
export const useBulkAction = create<BulkState>(() => closed);

/** closeBulk closes the dialog. */
export function closeBulk(): void {
  const { action, outcome } = useBulkAction.getState();
  useBulkAction.setState(closed);
  if (outcome && outcome.done > 0) action?.after?.();
}

/** confirmBulk opens the dialog, which asks before the action starts. */
export const confirmBulk = <T>(action: BulkActionOf<T>): void =>
  useBulkAction.setState({ ...closed, action: inWords(action) });

/** doBulk starts the action at once. The dialog opens only if something was refused. */
export const doBulk = <T>(action: BulkActionOf<T>): Promise<void> => perform(inWords(action));

/** perform executes the action and shows its result. */
export async function perform(action: BulkAction): Promise<void> {
  const asked = useBulkAction.getState().action === action;
  if (asked) useBulkAction.setState({ through: 0 });
  const outcome = await action.act((through) => asked && useBulkAction.setState({ through }));
  const { done, refused, undo } = outcome;
  if (done > 0) {
    toast(action.said(done), {
      action: undo && { label: 'Undo', onClick: () => void undo().then(showUndone) },
    });
  }
  useBulkAction.setState({ action, outcome });
  if (refused.length === 0) closeBulk();
}

function showUndone({ refused }: BulkOutcome): void {
  if (refused.length === 0) toast('Undone');
  else toast.error(`${refused.length} could not be undone`, { description: refused[0]?.why });
}

function inWords<T>({ items, nameOf, act, undo, ...rest }: BulkActionOf<T>): BulkAction {
  const withNames = ({ done, refused }: Outcome<T>): BulkOutcome => ({
    done: done.length,
    refused: refused.map(({ item, why }) => ({ name: nameOf(item), why })),
    ...(undo && done.length > 0 && { undo: async () => withNames(await undo(done)) }),
  });
  return { ...rest, names: items.map(nameOf), act: async (through) => withNames(await act(items, through)) };
}
