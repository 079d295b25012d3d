import { useQuery } from '@tanstack/react-query';
import { ChevronDown } from 'lucide-react';
import { useMemo } from 'react';
import {
  type ItemStatus,
  isActive,
  isRunnable,
  itemRef,
  itemStatuses,
  type Project,
  type Run,
  type WorkItem,
} from '@/api/records';
import { useMoveItem } from '@/data/actions';
import { inTurn } from '@/data/bulk';
import type { Move } from '@/data/moves';
import { runsQuery } from '@/data/queries';
import type { Selection } from '@/lib/selection';
import { Button } from '@/ui/Button';
import { Menu, MenuItem } from '@/ui/Menu';
import { MenuButton } from '@/ui/MenuButton';
import { doBulk } from './bulkAction';
import { RunActions } from './RunActions';
import { SelectionBar } from './SelectionBar';
import { StartItems } from './StartItems';
import { StatusIcon, statusNames } from './status';
import { WatchLink } from './WatchLink';

/** runsOf returns the runs of some items on which actions make sense: an item's active runs, else its newest run. */
export function runsOf(runs: readonly Run[], items: readonly WorkItem[]): Run[] {
  const newest = new Map<string, Run>();
  const wanted = new Set(items.map((item) => item.id));
  const active = runs.filter((run) => {
    if (!wanted.has(run.task_id)) return false;
    if (!newest.has(run.task_id)) newest.set(run.task_id, run);
    return isActive(run);
  });
  const busy = new Set(active.map((run) => run.task_id));
  return [...active, ...[...newest.values()].filter((run) => !busy.has(run.task_id))];
}

/**
 * idle returns the items for which a run can be started: tasks that are neither done nor cancelled, without active run.
 */
export function idle(items: readonly WorkItem[], runs: readonly Run[]): WorkItem[] {
  const busy = new Set(runs.filter(isActive).map((run) => run.task_id));
  const open = (item: WorkItem): boolean => item.status === 'todo' || item.status === 'doing';
  return items.filter((item) => isRunnable(item) && open(item) && !busy.has(item.id));
}

/** ItemSelection contains the actions on the selected items and on their runs. */
export function ItemSelection({
  project,
  items,
  total,
  selection,
}: {
  project: Project;
  items: readonly WorkItem[];
  total: number;
  selection: Selection;
}) {
  const { data: runs = [] } = useQuery(runsQuery({ project_id: project.id }));
  const chosen = useMemo(() => items.filter((item) => selection.has(item.id)), [items, selection]);
  const dealt = runsOf(runs, chosen);
  const move = useMoveItem(project.id);
  const moveTo = (status: ItemStatus): void => {
    const before = new Map<string, Move>();
    void doBulk({
      items: chosen,
      nameOf: (item) => `${itemRef(item)} ${item.title}`,
      act: inTurn(async (item) => {
        const undo = await move(item.id, { status });
        if (undo) before.set(item.id, undo);
      }),
      said: (done) => `${done === 1 ? '1 item is' : `${done} items are`} in ${statusNames[status]}`,
      undo: inTurn(async ({ id }) => {
        const undo = before.get(id);
        if (undo) await move(id, undo);
      }),
    });
  };
  return (
    <SelectionBar selection={selection} total={total}>
      <MenuButton
        trigger={(props) => (
          <Button {...props} size="sm">
            Move {chosen.length}
            <ChevronDown className="size-3.5 text-ink-3" />
          </Button>
        )}
        menu={(place) => (
          <Menu {...place} label="Move to">
            {itemStatuses.map((status) => (
              <MenuItem key={status} icon={<StatusIcon status={status} />} onSelect={() => moveTo(status)}>
                {statusNames[status]}
              </MenuItem>
            ))}
          </Menu>
        )}
      />
      <StartItems project={project} items={idle(chosen, runs)} onDone={selection.clear} />
      <WatchLink runs={dealt} />
      <RunActions runs={dealt} onDone={selection.clear} />
    </SelectionBar>
  );
}
