import { create } from 'zustand';
import { type Kind, kinds } from '@/api/records';
import type { CreateWorkItem } from '@/api/schema.gen';

/** Seed has the initial values of a new work item. */
export type Seed = Pick<CreateWorkItem, 'project_id'> &
  Partial<Pick<CreateWorkItem, 'kind' | 'parent_id' | 'status'>>;

/** useNewItem stores the seed of the open dialog; null: the dialog is closed. */
export const useNewItem = create<{ seed: Seed | null }>(() => ({ seed: null }));

/** openNewItem opens the dialog that creates a work item. */
export const openNewItem = (seed: Seed): void => useNewItem.setState({ seed });

/** childKind returns the usual kind of an item's children. */
export const childKind = (kind: Kind): Kind =>
  kinds[Math.min(kinds.indexOf(kind) + 1, kinds.length - 1)] as Kind;
