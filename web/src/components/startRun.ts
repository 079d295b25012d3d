import { create } from 'zustand';
import type { WorkItem } from '@/api/records';
import type { Run } from '@/api/schema.gen';

/** RunSeed is the item that a run is for, and the run that it repeats, if any. */
interface RunSeed {
  item: Pick<WorkItem, 'id' | 'title' | 'description' | 'project_id'>;
  again?: Run;
  /** It waits in the queue until a host takes it, however long that is. */
  wait?: boolean;
}

/** promptFor is what an agent is told about an item when nobody says otherwise. */
export const promptFor = (item: Pick<WorkItem, 'title' | 'description'>): string =>
  [item.title, item.description].filter(Boolean).join('\n\n');

/** useStartRunDialog is the seed of the open dialog; null: it is closed. */
export const useStartRunDialog = create<{ seed: RunSeed | null }>(() => ({ seed: null }));

/** openStartRun opens the dialog that starts a run. */
export const openStartRun = (item: RunSeed['item'], again?: Run, how: Pick<RunSeed, 'wait'> = {}): void =>
  useStartRunDialog.setState({ seed: { item, again, ...how } });
