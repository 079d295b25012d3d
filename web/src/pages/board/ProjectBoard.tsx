import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { Columns3, ListFilter } from 'lucide-react';
import { useDeferredValue, useEffect, useMemo, useState } from 'react';
import { messageOf } from '@/api/error';
import { type ItemStatus, itemStatuses, type Kind, type Project, type WorkItem } from '@/api/records';
import { openNewItem } from '@/components/newItem';
import { calmRuns, needsYou } from '@/components/runState';
import { statusNames } from '@/components/status';
import { useItemMoves } from '@/components/useItemMoves';
import { columnsOf, lanesOf, needsBelow, progressOf, visible } from '@/data/board';
import { changeSizesQuery } from '@/data/changes';
import { hostsQuery, runsQuery, workItemsQuery } from '@/data/queries';
import { useDnd } from '@/lib/dnd';
import { focusSoon } from '@/lib/focus';
import { lazily } from '@/lib/lazily';
import { setPref, usePrefs } from '@/lib/prefs';
import { useSelection } from '@/lib/selection';
import { useTyped } from '@/lib/typed';
import type { ChangeSizes } from '@/live/patches';
import { Button } from '@/ui/Button';
import { EmptyState, ErrorState } from '@/ui/States';
import { BoardSkeleton } from './BoardPage';
import { Column, Rail } from './Column';
import { type Board, BoardContext, type BoardFacts, type CardActions } from './context';
import { type DropTarget, dropMove } from './drop';
import { Lanes } from './Lanes';
import { Toolbar } from './Toolbar';
import { useBoardKeys } from './useBoardKeys';

const nothing: WorkItem[] = [];
const unchanged: ChangeSizes = {};
const ItemSheet = lazily(async () => (await import('@/components/ItemSheet')).ItemSheet);
const ItemSelection = lazily(async () => (await import('@/components/ItemSelection')).ItemSelection);
const DeleteItemDialog = lazily(async () => (await import('@/components/DeleteItemDialog')).DeleteItemDialog);

/** ProjectBoard shows the board of a project that has been loaded. */
export function ProjectBoard({ project }: { project: Project }) {
  const { data: items = nothing, isPending, error, refetch } = useQuery(workItemsQuery(project.id));
  const [select] = useState(calmRuns);
  const { data: runs } = useQuery({ ...runsQuery({ project_id: project.id }), select });
  const { data: hosts } = useQuery(hostsQuery);
  const { data: changes = unchanged } = useQuery({
    ...changeSizesQuery(project.id),
    enabled: project.repo !== '',
  });
  const { levels: lastLevels, lanes: withLanes, cancelledOpen } = usePrefs();
  const { item: selected, q = '', levels = lastLevels } = useSearch({ from: '/shell/p/$slug/board' });
  const navigate = useNavigate({ from: '/p/$slug/board' });
  const move = useItemMoves(project.id);
  const [words, setWords] = useTyped(
    q,
    (next) => void navigate({ search: (kept) => ({ ...kept, q: next || undefined }), replace: true }),
  );
  const setLevels = (next: Kind[]): void => {
    setPref('levels', next);
    void navigate({ search: (kept) => ({ ...kept, levels: next }), replace: true });
  };
  const [menu, setMenu] = useState<string | null>(null);
  const [doomed, setDoomed] = useState<WorkItem | null>(null);
  const scrollers = useMemo(() => new Map<string, (id: string) => void>(), []);

  const query = useDeferredValue(words);
  const shown = useMemo(() => visible(items, { levels, words: query }), [items, levels, query]);
  const waiting = useStableSet(useMemo(() => needsYou(runs), [runs]));
  const columns = useMemo(() => columnsOf(shown, waiting), [shown, waiting]);
  const lanes = useMemo(
    () => (withLanes ? lanesOf(items, shown, waiting) : null),
    [withLanes, items, shown, waiting],
  );
  const statuses = useMemo<ItemStatus[]>(
    () => itemStatuses.filter((status) => status !== 'cancelled' || cancelledOpen),
    [cancelledOpen],
  );
  const order = useMemo(
    () => statuses.flatMap((status) => columns[status].map((item) => item.id)),
    [columns, statuses],
  );
  const selection = useSelection(order);
  const keys = useBoardKeys({
    columns,
    lanes,
    statuses,
    move,
    scrollers,
    openMenu: setMenu,
    select: selection.toggle,
  });
  const first = statuses.map((status) => columns[status][0]?.id).find(Boolean);
  const active = keys.active && shown.some((item) => item.id === keys.active) ? keys.active : first;

  const facts = useMemo<BoardFacts>(
    () => ({
      byId: new Map(items.map((item) => [item.id, item])),
      progress: progressOf(items),
      runs: runs ?? new Map(),
      needsYou: waiting,
      needsBelow: needsBelow(items, waiting),
      hosts: new Map(hosts?.map((host) => [host.id, host])),
      changes,
    }),
    [items, runs, waiting, hosts, changes],
  );
  const { toggle } = selection;
  const actions = useMemo<CardActions>(
    () => ({
      move,
      toggle,
      setMenu,
      open: (id) => void navigate({ search: (kept) => ({ ...kept, item: id }) }),
      remove: setDoomed,
    }),
    [move, toggle, navigate],
  );
  const board = useMemo<Board>(
    () => ({
      facts,
      actions,
      selected,
      selection,
      active,
      menu,
      scrollers,
      create: (status, parent) =>
        openNewItem({ project_id: project.id, status, parent_id: parent?.id ?? null }),
    }),
    [facts, actions, selected, selection, active, menu, scrollers, project.id],
  );

  const dnd = useDnd();
  useEffect(
    () =>
      dnd?.monitorForElements({
        canMonitor: ({ source }) => source.data.type === 'item',
        onDrop: ({ source, location }) => {
          const data = location.current.dropTargets[0]?.data;
          const item = items.find((other) => other.id === source.data.id);
          if (!data || !item) return;
          const status = data.status as ItemStatus;
          const edge = dnd.extractClosestEdge(data);
          const target: DropTarget = { status, parent_id: data.lane as string | null | undefined };
          if (data.type === 'card')
            target.card = { id: data.id as string, edge: edge === 'bottom' ? 'bottom' : 'top' };
          const made = dropMove(items, item, target);
          if (made)
            void move(
              item,
              made,
              `“${item.title}” ${item.status === status ? 'moved' : `is in ${statusNames[status]}`}`,
            );
        },
      }),
    [dnd, items, move],
  );

  if (isPending) return <BoardSkeleton title={project.name} />;
  if (error && items.length === 0) {
    return (
      <ErrorState
        page
        title="The board could not be read"
        message={messageOf(error)}
        retry={() => void refetch()}
        className="pt-[12vh]"
      />
    );
  }
  const create = (): void => openNewItem({ project_id: project.id });
  return (
    <BoardContext value={board}>
      <Toolbar
        title={project.name}
        words={words}
        onWords={setWords}
        levels={levels}
        onLevels={setLevels}
        onCreate={create}
      />
      {items.length === 0 ? (
        <EmptyState
          icon={<Columns3 className="size-5" />}
          title="An empty board"
          className="pt-[12vh]"
          action={
            <Button variant="primary" onClick={create}>
              Add the first work item
            </Button>
          }
        >
          Work items are what agents run on. Begin with a task; milestones and epics can come later.
        </EmptyState>
      ) : shown.length === 0 ? (
        <EmptyState
          icon={<ListFilter className="size-5" />}
          title="The filter hides everything"
          className="pt-[12vh]"
          action={
            <Button
              onClick={() => {
                setWords('');
                setLevels([]);
              }}
            >
              Show all {items.length} items
            </Button>
          }
        >
          No item of this project fits what you filter by.
        </EmptyState>
      ) : (
        // biome-ignore lint/a11y/noStaticElementInteractions: keys bubble up here from the cards, which are buttons
        <div
          onKeyDown={keys.onKeyDown}
          onFocus={(event) => {
            const id = (event.target as Element).closest<HTMLElement>('[data-card-focus]')?.dataset.cardFocus;
            if (id) keys.setActive(id);
          }}
          className="flex min-h-0 flex-1 snap-x gap-4 overflow-x-auto px-4 pt-2 sm:px-5 max-sm:snap-mandatory"
        >
          {lanes ? (
            <Lanes lanes={lanes} columns={columns} statuses={statuses} />
          ) : (
            statuses.map((status) => <Column key={status} status={status} items={columns[status]} />)
          )}
          {!cancelledOpen && (
            <div className="flex pb-4">
              <Rail count={columns.cancelled.length} />
            </div>
          )}
        </div>
      )}
      {selection.ids.length > 0 && (
        <ItemSelection project={project} items={items} total={order.length} selection={selection} />
      )}
      {selected && (
        <ItemSheet
          id={selected}
          move={move}
          onClose={() => {
            void navigate({ search: (kept) => ({ ...kept, item: undefined }) });
            focusSoon(`[data-card-focus="${selected}"]`);
          }}
          onOpen={actions.open}
        />
      )}
      {doomed && <DeleteItemDialog item={doomed} onClose={() => setDoomed(null)} />}
    </BoardContext>
  );
}

/** useStableSet returns the same set object as long as the set has the same elements. */
function useStableSet(set: ReadonlySet<string>): ReadonlySet<string> {
  const [stable, setStable] = useState(set);
  if (stable === set || (stable.size === set.size && [...set].every((each) => stable.has(each))))
    return stable;
  setStable(set);
  return set;
}
