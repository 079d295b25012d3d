import { create } from 'zustand';
import { type Kind, kinds } from '@/api/records';
import type { CreateWorkItem } from '@/api/schema.gen';

/** Seed is what a new work item begins with. */
export type Seed = Pick<CreateWorkItem, 'project_id'> &
  Partial<Pick<CreateWorkItem, 'kind' | 'parent_id' | 'status'>>;

/** useNewItem is the seed of the open dialog; null: it is closed. */
export const useNewItem = create<{ seed: Seed | null }>(() => ({ seed: null }));

/** openNewItem opens the dialog that makes a work item. */
export const openNewItem = (seed: Seed): void => useNewItem.setState({ seed });

/** childKind is the kind that naturally stands under another. */
export const childKind = (kind: Kind): Kind =>
  kinds[Math.min(kinds.indexOf(kind) + 1, kinds.length - 1)] as Kind;
