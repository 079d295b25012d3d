import { useQuery } from '@tanstack/react-query';
import { useParams, useSearch } from '@tanstack/react-router';
import { isCode, messageOf } from '@/api/error';
import type { RunDetail } from '@/api/schema.gen';
import { NotFound } from '@/components/NotFound';
import { hostsQuery, runQuery, workItemQuery } from '@/data/queries';
import { lazily } from '@/lib/lazily';
import { useTitle } from '@/lib/title';
import { ErrorState, Loading, Skeleton } from '@/ui/States';
import { Details } from './Details';
import { Live } from './Live';
import { Log } from './Log';
import { RunHeader } from './RunHeader';
import { Timeline } from './Timeline';

const Changes = lazily(async () => (await import('@/components/changes/Changes')).Changes);
const Replay = lazily(async () => (await import('./replay/Replay')).Replay);

/** RunPage shows one run: its terminal, its changes, its timeline, its log, its replay and all its fields. */
export function RunPage() {
  const { runId } = useParams({ from: '/shell/runs/$runId' });
  const { data: run, error, refetch } = useQuery(runQuery(runId));
  if (run) return <OneRun key={run.id} run={run as RunDetail} />;
  if (isCode(error, 'not_found')) return <NotFound what="run" />;
  if (error) {
    return (
      <ErrorState
        page
        title="The run could not be read"
        message={messageOf(error)}
        retry={() => void refetch()}
        className="pt-[12vh]"
      />
    );
  }
  return (
    <Loading label="Loading the run" className="flex flex-1 flex-col gap-3 p-5">
      <Skeleton className="h-7 w-72" />
      <Skeleton className="h-5 w-96" />
      <Skeleton className="mt-2 flex-1" />
    </Loading>
  );
}

function OneRun({ run }: { run: RunDetail }) {
  const { tab = 'live', event } = useSearch({ from: '/shell/runs/$runId' });
  const { data: hosts } = useQuery(hostsQuery);
  const { data: item } = useQuery(workItemQuery(run.task_id));
  const host = hosts?.find((other) => other.id === run.host_id);
  useTitle(item?.title ?? run.session_name);
  return (
    <>
      <RunHeader run={run} host={host} item={item} tab={tab} />
      {tab === 'changes' ? (
        <Changes key={run.workspace_id} run={run} />
      ) : tab === 'timeline' ? (
        <Timeline run={run} />
      ) : tab === 'log' ? (
        <Log run={run} />
      ) : tab === 'replay' ? (
        <Replay key={event} run={run} event={event} />
      ) : tab === 'details' ? (
        <Details run={run} host={host} item={item} />
      ) : (
        <Live run={run} host={host} />
      )}
    </>
  );
}
