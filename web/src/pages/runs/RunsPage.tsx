import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useVirtualizer } from '@tanstack/react-virtual';
import { ListFilter, SquareTerminal } from 'lucide-react';
import { useMemo, useRef } from 'react';
import { messageOf } from '@/api/error';
import type { Host, Run } from '@/api/records';
import { FilterMenu } from '@/components/FilterMenu';
import { PageHeader } from '@/components/PageHeader';
import { hostsQuery, projectsQuery, providersQuery, runsQuery } from '@/data/queries';
import { useTitle } from '@/lib/title';
import { Button } from '@/ui/Button';
import { cx } from '@/ui/cx';
import { EmptyState, ErrorState, Loading, Skeleton } from '@/ui/States';
import { arrange, fits, type Group, statuses } from './arrange';

import { RunRow } from './RunRow';

const nothing: Run[] = [];
type Row = { type: 'title'; group: Group } | { type: 'run'; run: Run };

/** RunsPage is every run that is at work and the newest that ended; those that need someone come first. */
export function RunsPage() {
  useTitle('Runs');
  const search = useSearch({ from: '/shell/runs' });
  const navigate = useNavigate({ from: '/runs' });
  const { data: projects = [] } = useQuery(projectsQuery);
  const { data: hosts = [] } = useQuery(hostsQuery);
  const { data: providers = [] } = useQuery(providersQuery);
  const project = projects.find((each) => each.slug === search.project);
  const host = hosts.find((each) => each.name === search.host);
  const query = useQuery(
    runsQuery({ ...(project && { project_id: project.id }), ...(host && { host_id: host.id }) }),
  );
  const { data: runs = nothing, error, isPending } = query;
  const shown = useMemo(() => runs.filter((run) => fits(run, search)), [runs, search]);
  const rows = useMemo<Row[]>(
    () =>
      arrange(shown).flatMap((group) => [
        { type: 'title', group } as const,
        ...group.runs.map((run) => ({ type: 'run', run }) as const),
      ]),
    [shown],
  );
  const set = (change: Partial<typeof search>): void =>
    void navigate({ search: { ...search, ...change }, replace: true });
  const filtered = Object.values(search).some(Boolean);

  return (
    <>
      <PageHeader title="Runs">
        <div className="flex flex-wrap justify-end gap-1.5">
          <FilterMenu
            label="Status"
            value={search.status}
            onChange={(status) => set({ status })}
            options={statuses}
          />
          <FilterMenu
            label="Project"
            value={search.project}
            onChange={(value) => set({ project: value })}
            options={projects.map((each) => ({ value: each.slug, label: each.name }))}
          />
          <FilterMenu
            label="Host"
            value={search.host}
            onChange={(value) => set({ host: value })}
            options={hosts.map((each) => ({ value: each.name, label: each.name }))}
          />
          <FilterMenu
            label="Provider"
            value={search.provider}
            onChange={(provider) => set({ provider })}
            options={providers.map((each) => ({ value: each.id, label: each.name }))}
          />
        </div>
      </PageHeader>
      {isPending ? (
        <Loading label="Loading the runs" className="flex flex-col gap-2 p-4 sm:p-5">
          {['a', 'b', 'c', 'd'].map((key) => (
            <Skeleton key={key} className="h-13" />
          ))}
        </Loading>
      ) : error && runs.length === 0 ? (
        <ErrorState
          title="The runs could not be read"
          message={messageOf(error)}
          retry={() => void query.refetch()}
          className="pt-[12vh]"
        />
      ) : rows.length === 0 ? (
        filtered ? (
          <EmptyState
            icon={<ListFilter className="size-5" />}
            title="No run fits the filter"
            className="pt-[12vh]"
            action={
              <Button onClick={() => void navigate({ search: {}, replace: true })}>Show all runs</Button>
            }
          >
            There may be others that it hides.
          </EmptyState>
        ) : (
          <EmptyState icon={<SquareTerminal className="size-5" />} title="No runs yet" className="pt-[12vh]">
            A run is an agent at work on a task. Open a task on the board and press <b>r</b>, or start one
            with <code className="font-mono text-xs">svc run start</code>.
          </EmptyState>
        )
      ) : (
        <List rows={rows} hosts={hosts} />
      )}
    </>
  );
}

function List({ rows, hosts }: { rows: Row[]; hosts: Host[] }) {
  const scroller = useRef<HTMLDivElement>(null);
  const hostOf = useMemo(() => new Map(hosts.map((host) => [host.id, host])), [hosts]);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    getItemKey: (index) => {
      const row = rows[index];
      return row?.type === 'run' ? row.run.id : (row?.group.title ?? index);
    },
    estimateSize: (index) => (rows[index]?.type === 'run' ? 57 : 36),
    overscan: 8,
  });
  return (
    <div ref={scroller} className="min-h-0 flex-1 overflow-y-auto">
      <ul className="relative" style={{ height: virtual.getTotalSize() }}>
        {virtual.getVirtualItems().map(({ index, key, start }) => {
          const row = rows[index];
          return (
            row && (
              <li
                key={key}
                ref={virtual.measureElement}
                data-index={index}
                className="absolute inset-x-0 top-0"
                style={{ transform: `translateY(${start}px)` }}
              >
                {row.type === 'run' ? (
                  <RunRow run={row.run} host={hostOf.get(row.run.host_id ?? '')} />
                ) : (
                  <h2
                    className={cx(
                      'flex h-9 items-end gap-2 border-b px-4 pb-1.5 text-xs font-medium sm:px-5',
                      row.group.title === 'Needs you' ? 'text-warn' : 'text-ink-2',
                    )}
                  >
                    {row.group.title}
                    <span className="text-ink-3 tabular">{row.group.runs.length}</span>
                  </h2>
                )}
              </li>
            )
          );
        })}
      </ul>
    </div>
  );
}
