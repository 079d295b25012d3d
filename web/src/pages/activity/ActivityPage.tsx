import { useInfiniteQuery, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { Activity, Hand, ListFilter } from 'lucide-react';
import { useEffect, useMemo, useRef } from 'react';
import { messageOf } from '@/api/error';
import type { Event } from '@/api/records';
import { FilterMenu } from '@/components/FilterMenu';
import { PageHeader } from '@/components/PageHeader';
import { ProjectFilter } from '@/components/PlaceFilters';
import { activeRunsQuery, hostsQuery, journalQuery, projectsQuery } from '@/data/queries';
import { useItemTitles } from '@/data/useItemTitles';
import { useTitle } from '@/lib/title';
import { useConnection } from '@/live/connection';
import { stale } from '@/live/stale';
import { Button } from '@/ui/Button';
import { EmptyState, ErrorState, Loading, Skeleton } from '@/ui/States';
import { collapse } from './collapse';
import { EventList } from './EventList';
import { NeedsYou } from './NeedsYou';

const quietTopics = [
  'run.created',
  'run.sp*',
  'run.st*',
  'run.f*',
  'run.re*',
  'run.si*',
  'run.l*',
  'run.orphan*',
];

/** abouts are the choices of the filter by subject, with the topics that each selects. */
const abouts: { value: string; label: string; topics: string[] }[] = [
  { value: 'runs', label: 'Runs', topics: quietTopics },
  { value: 'ends', label: 'Ends and failures', topics: ['run.finished', 'run.failed', 'run.stopped'] },
  { value: 'work', label: 'Work items', topics: ['work_item.*'] },
  { value: 'changes', label: 'Changes', topics: ['workspace.*', 'comment.*'] },
  { value: 'projects', label: 'Projects', topics: ['project.*'] },
  { value: 'hosts', label: 'Hosts', topics: ['worker.*', 'host.*'] },
  { value: 'output', label: 'Output', topics: ['run.output_appended'] },
];
const everything = [...quietTopics, 'work_item.*', 'project.*', 'worker.*', 'host.*'];
const nothing: Event[] = [];

/** ActivityPage shows the journal as it grows, and above it the runs that wait for a person. */
export function ActivityPage() {
  useTitle('Activity');
  const { about, project: slug } = useSearch({ from: '/shell/activity' });
  const navigate = useNavigate({ from: '/activity' });
  const topics = abouts.find((each) => each.value === about)?.topics ?? everything;
  const { data: projects = [], isSuccess: known } = useQuery(projectsQuery);
  const { data: hosts = [] } = useQuery(hostsQuery);
  const { data: runs = [] } = useQuery(activeRunsQuery({ needs_input: 'true' }));
  const project = projects.find((each) => each.slug === slug);
  // Until the address's project is found, nothing is requested. An unknown project has no events.
  const journal = useInfiniteQuery({
    ...journalQuery(topics, project?.id),
    enabled: !slug || Boolean(project),
  });
  useExactTimes(topics, project?.id);
  const missing = slug !== undefined && known && !project;
  const events = useMemo(() => journal.data?.pages.flatMap((page) => page.items) ?? nothing, [journal.data]);
  const entries = useMemo(() => collapse(events), [events]);
  const projectIds = useMemo(
    () => [...new Set(events.map((event) => String(event.payload.project_id ?? '')))],
    [events],
  );
  const titles = useItemTitles(projectIds.filter((id) => projects.some((each) => each.id === id)));
  const set = (change: { about?: string; project?: string }): void =>
    void navigate({ search: { about, project: slug, ...change }, replace: true });
  const waiting = runs.filter((run) => run.needs_input && (!project || run.project_id === project.id));

  return (
    <>
      <PageHeader title="Activity">
        <FilterMenu
          label="About"
          value={about}
          onChange={(value) => set({ about: value })}
          options={abouts}
        />
        <ProjectFilter projects={projects} value={slug} onChange={(value) => set({ project: value })} />
      </PageHeader>
      {waiting.length > 0 && (
        <section aria-label="Needs you" className="border-b bg-warn/6 px-4 py-3 sm:px-5">
          <h2 className="mb-2 flex items-center gap-1.5 text-xs font-semibold text-warn">
            <Hand className="size-3.5" /> Needs you
          </h2>
          <NeedsYou runs={waiting} hosts={hosts} />
        </section>
      )}
      {journal.isPending && !missing ? (
        <Loading label="Loading the journal" className="flex flex-col gap-2 p-5">
          {['a', 'b', 'c', 'd', 'e'].map((key) => (
            <Skeleton key={key} className="h-10" />
          ))}
        </Loading>
      ) : journal.error && events.length === 0 ? (
        <ErrorState
          title="The journal could not be read"
          message={messageOf(journal.error)}
          retry={() => void journal.refetch()}
          className="pt-[12vh]"
        />
      ) : events.length === 0 && !journal.hasNextPage ? (
        about || slug ? (
          <EmptyState
            icon={<ListFilter className="size-5" />}
            title="Nothing in the journal fits"
            className="pt-[12vh]"
            action={
              <Button onClick={() => void navigate({ search: {}, replace: true })}>Show everything</Button>
            }
          >
            The filter hides the rest.
          </EmptyState>
        ) : (
          <EmptyState
            icon={<Activity className="size-5" />}
            title="Nothing has happened yet"
            className="pt-[12vh]"
          >
            Every change of projects, work items, runs and hosts is written down here.
          </EmptyState>
        )
      ) : (
        <EventList
          entries={entries}
          hosts={hosts}
          projects={projects}
          titles={titles}
          more={journal.hasNextPage}
          loading={journal.isFetchingNextPage}
          onMore={() => void journal.fetchNextPage()}
        />
      )}
    </>
  );
}

/**
 * useExactTimes reads the journal again when the stream is back. The stream delivers missed events without their times,
 * so they would look as if they had just happened.
 */
function useExactTimes(topics: string[], projectId: string | undefined): void {
  const client = useQueryClient();
  const state = useConnection((connection) => connection.state);
  const lost = useRef(false);
  useEffect(() => {
    if (state !== 'open') lost.current = true;
    else if (lost.current) {
      lost.current = false;
      void stale(client, { queryKey: journalQuery(topics, projectId).queryKey });
    }
  }, [client, state, topics, projectId]);
}
