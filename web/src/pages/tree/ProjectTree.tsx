import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useVirtualizer } from '@tanstack/react-virtual';
import { ChevronsDownUp, ChevronsUpDown, ListTree, Plus } from 'lucide-react';
import { type KeyboardEvent, useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { messageOf } from '@/api/error';
import { type ItemStatus, isRunnable, itemStatuses, type Project, type WorkItem } from '@/api/records';
import { openNewItem } from '@/components/newItem';
import { PageHeader } from '@/components/PageHeader';
import { calmRuns, needsYou } from '@/components/runState';
import { openStartRun } from '@/components/startRun';
import { statusNames } from '@/components/status';
import { useItemMoves } from '@/components/useItemMoves';
import { childrenOf, needsBelow, progressOf, treeRows, unmet } from '@/data/board';
import type { Move } from '@/data/moves';
import { hostsQuery, runsQuery, workItemsQuery } from '@/data/queries';
import { useDnd } from '@/lib/dnd';
import { focusSoon } from '@/lib/focus';
import { lazily } from '@/lib/lazily';
import { useSelection } from '@/lib/selection';
import { Button, IconButton } from '@/ui/Button';
import { EmptyState, ErrorState, Loading, Skeleton } from '@/ui/States';
import { type DropZone, dropOn, indent, nudge, outdent } from './indent';
import { TreeRow } from './TreeRow';

const nothing: WorkItem[] = [];
const ItemSheet = lazily(async () => (await import('@/components/ItemSheet')).ItemSheet);
const ItemSelection = lazily(async () => (await import('@/components/ItemSelection')).ItemSelection);
const DeleteItemDialog = lazily(async () => (await import('@/components/DeleteItemDialog')).DeleteItemDialog);

/** ProjectTree shows the tree of a project that has been loaded. */
export function ProjectTree({ project }: { project: Project }) {
  const { data: items = nothing, isPending, error, refetch } = useQuery(workItemsQuery(project.id));
  const [select] = useState(calmRuns);
  const { data: runs } = useQuery({ ...runsQuery({ project_id: project.id }), select });
  const { data: hosts = [] } = useQuery(hostsQuery);
  const { item: selected } = useSearch({ from: '/shell/p/$slug/tree' });
  const navigate = useNavigate({ from: '/p/$slug/tree' });
  const move = useItemMoves(project.id);
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set());
  const [active, setActive] = useState<string>();
  const [menu, setMenu] = useState<string | null>(null);
  const [doomed, setDoomed] = useState<WorkItem | null>(null);
  const scroller = useRef<HTMLDivElement>(null);

  const rows = useMemo(() => treeRows(items, closed), [items, closed]);
  const selection = useSelection(useMemo(() => rows.map(({ item }) => item.id), [rows]));
  const progress = useMemo(() => progressOf(items), [items]);
  const below = useMemo(() => needsBelow(items, needsYou(runs)), [items, runs]);
  const byId = useMemo(() => new Map(items.map((item) => [item.id, item])), [items]);
  const siblings = useMemo(() => childrenOf(items), [items]);
  const lines = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    getItemKey: useCallback((index: number) => rows[index]?.item.id ?? index, [rows]),
    estimateSize: () => 40,
    overscan: 12,
    paddingEnd: 24,
  });

  const dnd = useDnd();
  useEffect(
    () => (scroller.current ? dnd?.autoScrollForElements({ element: scroller.current }) : undefined),
    [dnd],
  );
  useEffect(
    () =>
      dnd?.monitorForElements({
        canMonitor: ({ source }) => source.data.type === 'item',
        onDrop: ({ source, location }) => {
          const data = location.current.dropTargets[0]?.data;
          const item = items.find((other) => other.id === source.data.id);
          const target = items.find((other) => other.id === data?.id);
          const made = data && item && target && dropOn(items, item, target, data.zone as DropZone);
          if (made) void move(item, made, said(items, item, made));
        },
      }),
    [dnd, items, move],
  );

  const open = (id: string): void => void navigate({ search: { item: id } });
  const toggle = (id: string, wanted?: boolean): void =>
    setClosed((now) => {
      const next = new Set(now);
      if (wanted ?? now.has(id)) next.delete(id);
      else next.add(id);
      return next;
    });
  const focus = (index: number): void => {
    const row = rows[index];
    if (!row) return;
    setActive(row.item.id);
    lines.scrollToIndex(index, { align: 'auto' });
    focusRow(row.item.id);
  };

  const onKeyDown = (event: KeyboardEvent): void => {
    const id = (event.target as HTMLElement).dataset.row;
    const index = rows.findIndex((row) => row.item.id === id);
    const row = rows[index];
    if (!row || event.ctrlKey || event.metaKey || event.altKey) return;
    const { item } = row;
    const make = (made: Move | null): void => {
      if (!made) return;
      if (made.parent_id) toggle(made.parent_id, true);
      void move(item, made, said(items, item, made));
      focusRow(item.id);
    };
    const step = { ArrowUp: -1, ArrowDown: 1 }[event.key] as -1 | 1 | undefined;
    const number = ['1', '2', '3', '4'].indexOf(event.key);
    if (step) event.shiftKey ? make(nudge(items, item, step)) : focus(index + step);
    else if (event.key === 'ArrowRight')
      row.children > 0 && !row.open ? toggle(item.id, true) : focus(row.open ? index + 1 : index);
    else if (event.key === 'ArrowLeft')
      row.open ? toggle(item.id, false) : focus(rows.findIndex((other) => other.item.id === item.parent_id));
    else if (event.key === 'Home') focus(0);
    else if (event.key === 'End') focus(rows.length - 1);
    else if (event.key === ']') make(indent(items, item));
    else if (event.key === '[') make(outdent(items, item));
    else if (event.key === 'x') selection.toggle(item.id);
    else if (event.key === 'm') setMenu(item.id);
    else if (event.key === 'r' && isRunnable(item)) openStartRun(item);
    else if (number >= 0) make({ status: itemStatuses[number] as ItemStatus });
    else return;
    event.preventDefault();
    event.stopPropagation();
  };

  const create = (): void => openNewItem({ project_id: project.id });
  return (
    <>
      <PageHeader
        title={project.name}
        lead={<span className="text-sm text-ink-3 tabular">{items.length} items</span>}
      >
        <IconButton label="Open all" onClick={() => setClosed(new Set())}>
          <ChevronsUpDown className="size-4" />
        </IconButton>
        <IconButton label="Close all" onClick={() => setClosed(new Set(items.map((item) => item.id)))}>
          <ChevronsDownUp className="size-4" />
        </IconButton>
        <Button variant="primary" icon={<Plus className="size-4" />} onClick={create}>
          New
        </Button>
      </PageHeader>
      <div ref={scroller} className="min-h-0 flex-1 overflow-y-auto px-3 py-2 sm:px-4">
        {isPending ? (
          <Loading label="Loading the tree" className="flex flex-col gap-2">
            {Array.from({ length: 8 }, (_, i) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: boxes without a life of their own
              <Skeleton key={i} className="h-8" />
            ))}
          </Loading>
        ) : error && items.length === 0 ? (
          <ErrorState
            title="The tree could not be read"
            message={messageOf(error)}
            retry={() => void refetch()}
          />
        ) : items.length === 0 ? (
          <EmptyState
            icon={<ListTree className="size-5" />}
            title="Nothing planned yet"
            action={
              <Button variant="primary" onClick={create}>
                Add the first work item
              </Button>
            }
          >
            The tree shows how work is broken down: milestones, epics, tasks, subtasks.
          </EmptyState>
        ) : (
          <div
            role="tree"
            aria-label={`Work items of ${project.name}`}
            onKeyDown={onKeyDown}
            className="relative [--indent:1.375rem] max-sm:[--indent:0.75rem]"
            style={{ height: lines.getTotalSize() }}
          >
            {lines.getVirtualItems().map((line) => {
              const row = rows[line.index];
              if (!row) return null;
              const { item } = row;
              const family = siblings.get(item.parent_id) ?? [item];
              const run = runs?.get(item.id);
              return (
                <div
                  key={line.key}
                  role="presentation"
                  className="absolute inset-x-0 top-0"
                  style={{ transform: `translateY(${line.start}px)` }}
                >
                  <TreeRow
                    row={row}
                    size={family.length}
                    place={family.indexOf(item) + 1}
                    progress={progress.get(item.id)}
                    needsBelow={below.get(item.id)}
                    unmet={unmet(item, byId)}
                    run={run}
                    host={hosts.find((host) => host.id === run?.host_id)}
                    move={move}
                    selected={selected === item.id}
                    picked={selection.has(item.id)}
                    picking={selection.ids.length > 0}
                    onPick={(range) => selection.toggle(item.id, range)}
                    tabbable={active ? active === item.id : line.index === 0}
                    menuOpen={menu === item.id}
                    onMenu={(shown) => setMenu(shown ? item.id : null)}
                    onToggle={() => toggle(item.id)}
                    onOpen={() => open(item.id)}
                    onDelete={() => setDoomed(item)}
                  />
                </div>
              );
            })}
          </div>
        )}
      </div>
      {selection.ids.length > 0 && (
        <ItemSelection project={project} items={items} total={rows.length} selection={selection} />
      )}
      {selected && (
        <ItemSheet
          id={selected}
          move={move}
          onClose={() => {
            void navigate({ search: {} });
            focusRow(selected);
          }}
          onOpen={open}
        />
      )}
      {doomed && <DeleteItemDialog item={doomed} onClose={() => setDoomed(null)} />}
    </>
  );
}

/** said describes a move. */
function said(items: readonly WorkItem[], item: WorkItem, move: Move): string {
  if (move.status) return `“${item.title}” is in ${statusNames[move.status]}`;
  if (move.parent_id === undefined || move.parent_id === item.parent_id) return `“${item.title}” moved`;
  const parent = items.find((other) => other.id === move.parent_id);
  return parent ? `“${item.title}” is under “${parent.title}”` : `“${item.title}” is at the top level`;
}

const focusRow = (id: string): void => focusSoon(`[data-row="${id}"]`);
