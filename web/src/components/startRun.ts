import { create } from 'zustand';
import type { WorkItem } from '@/api/records';
import type { Run } from '@/api/schema.gen';

/** RunSeed is the item that a run is for, and the run that it repeats, if any. */
interface RunSeed {
  item: Pick<WorkItem, 'id' | 'title' | 'description' | 'project_id'>;
  again?: Run;
}

/** useStartRunDialog is the seed of the open dialog; null: it is closed. */
export const useStartRunDialog = create<{ seed: RunSeed | null }>(() => ({ seed: null }));

/** openStartRun opens the dialog that starts a run. */
export const openStartRun = (item: RunSeed['item'], again?: Run): void =>
  useStartRunDialog.setState({ seed: { item, again } });
