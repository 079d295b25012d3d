import { create } from 'zustand';
import type { WorkItem } from '@/api/records';
import type { Run } from '@/api/schema.gen';

/** RunSeed is the item for a new run, and the run that it repeats, if any. */
interface RunSeed {
  item: Pick<WorkItem, 'id' | 'title' | 'description' | 'project_id'>;
  again?: Run;
  /** Whether the run waits in the queue until a host takes it, without a timeout. */
  wait?: boolean;
}

/** promptFor returns the default prompt for an item. */
export const promptFor = (item: Pick<WorkItem, 'title' | 'description'>): string =>
  [item.title, item.description].filter(Boolean).join('\n\n');

/** useStartRunDialog stores the seed of the open dialog; null: the dialog is closed. */
export const useStartRunDialog = create<{ seed: RunSeed | null }>(() => ({ seed: null }));

/** openStartRun opens the dialog that starts a run. */
export const openStartRun = (item: RunSeed['item'], again?: Run, how: Pick<RunSeed, 'wait'> = {}): void =>
  useStartRunDialog.setState({ seed: { item, again, ...how } });
