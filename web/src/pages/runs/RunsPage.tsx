import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useVirtualizer } from '@tanstack/react-virtual';
import { ListFilter, SquareTerminal } from 'lucide-react';
import { useCallback, useDeferredValue, useEffect, useMemo, useRef } from 'react';
import { messageOf } from '@/api/error';
import type { Host, Run } from '@/api/records';
import { FilterMenu } from '@/components/FilterMenu';
import { PageHeader } from '@/components/PageHeader';
import { PlaceFilters } from '@/components/PlaceFilters';
import { RunActions } from '@/components/RunActions';
import { SelectionBar } from '@/components/SelectionBar';
import { WatchLink } from '@/components/WatchLink';
import { activeRunsQuery, endedRunsQuery, providersQuery, runCountsQuery } from '@/data/queries';
import { usePlace } from '@/data/usePlace';
import { count } from '@/lib/count';
import { useKeptScroll } from '@/lib/kept';
import { type Selection, useSelection, useSelectKey } from '@/lib/selection';
import { useTitle } from '@/lib/title';
import { useTyped } from '@/lib/typed';
import type { RunFilter } from '@/live/patches';
import { Button } from '@/ui/Button';
import { cx } from '@/ui/cx';
import { Input } from '@/ui/Field';
import { OrderSelect } from '@/ui/OrderSelect';
import { Spinner } from '@/ui/Spinner';
import { EmptyState, ErrorState, Loading, Skeleton } from '@/ui/States';
import { arrange, found, type Group, orders, statuses, wantedOf } from './arrange';
import { RunRow } from './RunRow';

const nothing: Run[] = [];
type Row = { type: 'title'; group: Group; count: number } | { type: 'run'; run: Run };

/** RunsPage shows all runs, those that wait for a person first. More ended runs are loaded while the user scrolls. */
export function RunsPage() {
  useTitle('Runs');
  const search = useSearch({ from: '/shell/runs' });
  const navigate = useNavigate({ from: '/runs' });
  const { projects, hosts, filter, known, missing } = usePlace(search);
  const { data: providers = [] } = useQuery(providersQuery);
  const { data, error, isPending, refetch, older } = useRuns(
    { ...filter, ...(search.provider && { provider: search.provider }) },
    search.status,
    known,
  );
  const { runs, ended, endedLoaded } = data;
  const set = (change: Partial<typeof search>): void =>
    void navigate({ search: { ...search, ...change }, replace: true });
  const [text, find] = useTyped(search.q ?? '', (q) => set({ q: q || undefined }));
  const words = useDeferredValue(text.trim());
  const rows = useMemo<Row[]>(
    () =>
      arrange(found(runs, words), search.sort).flatMap((group) => [
        {
          type: 'title',
          group,
          count: group.title === 'Ended' && words === '' ? ended : group.runs.length,
        } as const,
        ...group.runs.map((run) => ({ type: 'run', run }) as const),
      ]),
    [runs, ended, words, search.sort],
  );
  const shown = useMemo(() => rows.flatMap((row) => (row.type === 'run' ? [row.run] : [])), [rows]);
  const selection = useSelection(useMemo(() => shown.map((run) => run.id), [shown]));
  const chosen = shown.filter((run) => selection.has(run.id));
  useSelectKey(selection);
  const { sort: _, ...filters } = search;
  const filtered = Object.values(filters).some(Boolean);
  const searched = words === '' ? null : { loaded: endedLoaded, of: ended };

  return (
    <>
      <PageHeader
        title="Runs"
        search={
          <Input
            type="search"
            aria-label="Search runs"
            placeholder="Task, number, id…"
            value={text}
            onChange={(event) => find(event.target.value)}
          />
        }
      >
        <FilterMenu
          label="Status"
          value={search.status}
          onChange={(status) => set({ status })}
          options={statuses}
        />
        <PlaceFilters projects={projects} hosts={hosts} value={search} onChange={set} />
        <FilterMenu
          label="Provider"
          value={search.provider}
          onChange={(provider) => set({ provider })}
          options={providers.map((each) => ({ value: each.id, label: each.name }))}
        />
        <div className="w-36 shrink-0">
          <OrderSelect
            label="Order of active runs"
            orders={orders}
            value={search.sort}
            onChange={(sort) => set({ sort })}
          />
        </div>
      </PageHeader>
      {isPending && !missing ? (
        <Loading label="Loading the runs" className="flex flex-col gap-2 p-4 sm:p-5">
          {['a', 'b', 'c', 'd'].map((key) => (
            <Skeleton key={key} className="h-13" />
          ))}
        </Loading>
      ) : error && runs.length === 0 ? (
        <ErrorState
          title="The runs could not be read"
          message={messageOf(error)}
          retry={refetch}
          className="pt-[12vh]"
        />
      ) : missing || (rows.length === 0 && !older.more) ? (
        filtered ? (
          <EmptyState
            icon={<ListFilter className="size-5" />}
            title="No run fits the filter"
            className="pt-[12vh]"
            action={
              <Button onClick={() => void navigate({ search: {}, replace: true })}>Show all runs</Button>
            }
          >
            All runs were looked through, not only the newest.
          </EmptyState>
        ) : (
          <EmptyState icon={<SquareTerminal className="size-5" />} title="No runs yet" className="pt-[12vh]">
            A run is an agent at work on a task. Open a task on the board and press <b>r</b>, or start one
            with <code className="font-mono text-xs">svc run start</code>.
          </EmptyState>
        )
      ) : (
        <List rows={rows} hosts={hosts} older={older} searched={searched} selection={selection} />
      )}
      {selection.ids.length > 0 && (
        <SelectionBar selection={selection} total={shown.length}>
          <WatchLink runs={chosen} />
          <RunActions runs={chosen} onDone={selection.clear} />
        </SelectionBar>
      )}
    </>
  );
}

/** Older is the state of the ended runs that are not loaded yet. */
interface Older {
  more: boolean;
  loading: boolean;
  /** The last attempt to load failed. Only the user starts the next one. */
  failed: boolean;
  load(): void;
}

/** useRuns returns the runs that match: all active runs, and the ended ones that are loaded. */
function useRuns(filter: RunFilter, status: string | undefined, enabled: boolean) {
  const { active: going, ended: over, needs_input } = wantedOf(status);
  const wanted = { ...filter, ...(needs_input && { needs_input }) };
  const active = useQuery({
    ...activeRunsQuery({ ...wanted, status: going }),
    enabled: enabled && going.length > 0,
  });
  const ended = useInfiniteQuery({
    ...endedRunsQuery({ ...wanted, status: over }),
    enabled: enabled && over.length > 0,
  });
  const { data: counts } = useQuery({ ...runCountsQuery(wanted), enabled: enabled && over.length > 0 });
  const loaded = useMemo(() => ended.data?.pages.flatMap((page) => page.items) ?? nothing, [ended.data]);
  const runs = useMemo(() => [...(active.data ?? nothing), ...loaded], [active.data, loaded]);
  const total = over.reduce((sum, each) => sum + (counts?.[each] ?? 0), 0);
  const older: Older = {
    more: ended.hasNextPage,
    loading: ended.isFetchingNextPage,
    failed: ended.isFetchNextPageError,
    load: () => void ended.fetchNextPage(),
  };
  return {
    data: { runs, ended: Math.max(total, loaded.length), endedLoaded: loaded.length },
    error: active.error ?? ended.error,
    isPending: !enabled || active.isLoading || ended.isLoading,
    refetch: () => {
      for (const query of [active, ended]) if (query.error) void query.refetch();
    },
    older,
  };
}

function List({
  rows,
  hosts,
  older,
  searched,
  selection,
}: {
  rows: Row[];
  hosts: Host[];
  older: Older;
  /** How many of the ended runs a search has covered so far. Null: there is no search among ended runs. */
  searched: { loaded: number; of: number } | null;
  selection: Selection;
}) {
  const scroller = useRef<HTMLDivElement>(null);
  const { initialOffset, onScroll } = useKeptScroll('runs');
  const hostOf = useMemo(() => new Map(hosts.map((host) => [host.id, host])), [hosts]);
  const virtual = useVirtualizer({
    count: rows.length + (older.more ? 1 : 0),
    getScrollElement: () => scroller.current,
    getItemKey: useCallback(
      (index: number) => {
        const row = rows[index];
        return row?.type === 'run' ? row.run.id : (row?.group.title ?? 'more');
      },
      [rows],
    ),
    estimateSize: (index) => (rows[index]?.type === 'run' ? 56 : 36),
    overscan: 8,
    initialOffset,
  });
  const items = virtual.getVirtualItems();
  const near = older.more && (items.at(-1)?.index ?? 0) >= rows.length - 10;
  const { load, loading, failed } = older;
  useEffect(() => {
    // A search would load all ended runs automatically, so it loads more only when the user asks for it.
    if (near && !loading && !failed && !searched) load();
  }, [near, loading, failed, load, searched]);
  return (
    <div ref={scroller} onScroll={onScroll} className="min-h-0 flex-1 overflow-y-auto">
      <ul className="relative" style={{ height: virtual.getTotalSize() }}>
        {items.map(({ index, key, start }) => {
          const row = rows[index];
          return (
            <li
              key={key}
              ref={virtual.measureElement}
              data-index={index}
              className="absolute inset-x-0 top-0"
              style={{ transform: `translateY(${start}px)` }}
            >
              {!row ? (
                <span className="flex min-h-9 flex-wrap items-center gap-2 px-5 py-1 text-xs text-ink-3">
                  {searched && (
                    <span role="status">
                      {count(searched.loaded)} of {count(searched.of)} ended runs were looked through.
                    </span>
                  )}
                  {(failed || searched) && !loading ? (
                    <Button size="sm" onClick={load}>
                      {searched ? 'Look through older runs' : 'Read older runs'}
                    </Button>
                  ) : (
                    <>
                      <Spinner /> Older runs
                    </>
                  )}
                </span>
              ) : row.type === 'run' ? (
                <RunRow
                  run={row.run}
                  host={hostOf.get(row.run.host_id ?? '')}
                  selected={selection.has(row.run.id)}
                  onToggle={selection.toggle}
                />
              ) : (
                <h2
                  className={cx(
                    'flex h-9 items-end gap-2 border-b px-4 pb-1.5 text-xs font-medium sm:px-5',
                    row.group.title === 'Needs you'
                      ? 'text-warn'
                      : row.group.title === 'Crash loops'
                        ? 'text-bad'
                        : 'text-ink-2',
                  )}
                >
                  {row.group.title}
                  <span className="text-ink-3 tabular">{count(row.count)}</span>
                </h2>
              )}
            </li>
          );
        })}
      </ul>
    </div>
  );
}
