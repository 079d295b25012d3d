import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useVirtualizer } from '@tanstack/react-virtual';
import { ListFilter, ListOrdered } from 'lucide-react';
import { useCallback, useEffect, useMemo, useRef } from 'react';
import { messageOf } from '@/api/error';
import type { Run } from '@/api/records';
import { doBulk } from '@/components/bulkAction';
import { PageHeader } from '@/components/PageHeader';
import { ProjectFilter } from '@/components/PlaceFilters';
import { priorityName } from '@/components/priorities';
import { RunActions } from '@/components/RunActions';
import { SelectionBar } from '@/components/SelectionBar';
import { useBulkRuns } from '@/data/bulk';
import { projectsQuery, queueQuery } from '@/data/queries';
import { useKeptScroll } from '@/lib/kept';
import { type Selection, useSelection, useSelectKey } from '@/lib/selection';
import { useTitle } from '@/lib/title';
import { Button } from '@/ui/Button';
import { EmptyState, ErrorState, Loading, Skeleton } from '@/ui/States';
import { highest, lowest } from './priorityAt';
import { QueueRow } from './QueueRow';
import { useQueueDrops } from './useQueueDrag';

const nothing: Run[] = [];

/** QueuePage shows all waiting runs in the order in which they will be placed, with the reason for each. */
export function QueuePage() {
  useTitle('Queue');
  const { project: slug } = useSearch({ from: '/shell/queue' });
  const navigate = useNavigate({ from: '/queue' });
  const { data: projects = [], isSuccess: known } = useQuery(projectsQuery);
  const project = projects.find((each) => each.slug === slug);
  const missing = slug !== undefined && known && !project;
  const query = useInfiniteQuery({ ...queueQuery(project?.id), enabled: !slug || Boolean(project) });
  const runs = useMemo<Run[]>(() => query.data?.pages.flatMap((page) => page.items) ?? nothing, [query.data]);
  const selection = useSelection(useMemo(() => runs.map((run) => run.id), [runs]));
  useSelectKey(selection);
  const bulk = useBulkRuns();
  const prioritise = useCallback(
    (run: Run, priority: number) =>
      void doBulk({
        items: [run],
        nameOf: (each) => each.task_title,
        act: bulk.setPriority(() => priority),
        said: () => `“${run.task_title}” now has the priority ${priorityName(priority).toLowerCase()}`,
        undo: bulk.setPriority((each) => each.priority),
      }),
    [bulk],
  );
  useQueueDrops(runs, prioritise);
  return (
    <>
      <PageHeader title="Queue">
        <ProjectFilter
          projects={projects}
          value={slug}
          onChange={(value) => void navigate({ search: { project: value }, replace: true })}
        />
      </PageHeader>
      {query.isPending && !missing ? (
        <Loading label="Loading the queue" className="flex flex-col gap-2 p-4 sm:p-5">
          {['a', 'b', 'c'].map((key) => (
            <Skeleton key={key} className="h-16" />
          ))}
        </Loading>
      ) : query.error && runs.length === 0 ? (
        <ErrorState
          title="The queue could not be read"
          message={messageOf(query.error)}
          retry={() => void query.refetch()}
          className="pt-[12vh]"
        />
      ) : runs.length > 0 ? (
        <List
          runs={runs}
          more={query.hasNextPage && !query.isFetchNextPageError}
          loading={query.isFetchingNextPage}
          load={() => void query.fetchNextPage()}
          selection={selection}
          prioritise={prioritise}
        />
      ) : slug ? (
        <EmptyState
          icon={<ListFilter className="size-5" />}
          title="No run of this project waits"
          className="pt-[12vh]"
          action={
            <Button onClick={() => void navigate({ search: {}, replace: true })}>Show the whole queue</Button>
          }
        />
      ) : (
        <EmptyState icon={<ListOrdered className="size-5" />} title="No run waits" className="pt-[12vh]">
          A run waits here until a host takes it: when hosts are full, when its task needs others first, or
          when its time has not come.
        </EmptyState>
      )}
      {selection.ids.length > 0 && (
        <SelectionBar selection={selection} total={runs.length}>
          <RunActions runs={runs.filter((run) => selection.has(run.id))} onDone={selection.clear} />
        </SelectionBar>
      )}
    </>
  );
}

function List({
  runs,
  more,
  loading,
  load,
  selection,
  prioritise,
}: {
  runs: Run[];
  more: boolean;
  loading: boolean;
  load(): void;
  selection: Selection;
  prioritise(run: Run, priority: number): void;
}) {
  const scroller = useRef<HTMLDivElement>(null);
  const { initialOffset, onScroll } = useKeptScroll('queue');
  const rows = useVirtualizer({
    count: runs.length,
    getScrollElement: () => scroller.current,
    getItemKey: useCallback((index: number) => runs[index]?.id ?? index, [runs]),
    estimateSize: () => 73,
    overscan: 2,
    initialOffset,
  });
  const items = rows.getVirtualItems();
  const near = more && (items.at(-1)?.index ?? 0) >= runs.length - 5;
  useEffect(() => {
    if (near && !loading) load();
  }, [near, loading, load]);
  return (
    <div ref={scroller} onScroll={onScroll} className="min-h-0 flex-1 overflow-y-auto">
      <ol
        aria-label="Runs that wait, next first"
        onKeyDown={(event) => {
          const step = event.key === 'ArrowUp' ? 1 : event.key === 'ArrowDown' ? -1 : 0;
          const id = (event.target as Element).closest<HTMLElement>('[data-row]')?.dataset.row;
          const run = runs.find((each) => each.id === id);
          if (!event.shiftKey || step === 0 || !run) return;
          event.preventDefault();
          const priority = run.priority + step;
          if (priority >= lowest && priority <= highest) prioritise(run, priority);
        }}
        className="relative"
        style={{ height: rows.getTotalSize() }}
      >
        {items.map(({ index, key, start }) => {
          const run = runs[index];
          return (
            run && (
              <li
                key={key}
                ref={rows.measureElement}
                data-index={index}
                className="absolute inset-x-0 top-0"
                style={{ transform: `translateY(${start}px)` }}
              >
                <QueueRow
                  run={run}
                  selected={selection.has(run.id)}
                  onToggle={selection.toggle}
                  onPriority={prioritise}
                />
              </li>
            )
          );
        })}
      </ol>
    </div>
  );
}
