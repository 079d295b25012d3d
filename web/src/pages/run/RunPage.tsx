import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { isCode, messageOf } from '@/api/error';
import { isActive, type Run } from '@/api/records';
import { NotFound } from '@/components/NotFound';
import { PageHeader } from '@/components/PageHeader';
import { RunPill } from '@/components/RunPill';
import { failure } from '@/components/runState';
import { useStopRun } from '@/data/actions';
import { hostsQuery, runQuery, workItemQuery } from '@/data/queries';
import { useTitle } from '@/lib/title';
import { Button } from '@/ui/Button';
import { RelativeTime } from '@/ui/RelativeTime';
import { ErrorState, Loading, Skeleton } from '@/ui/States';
import { toast } from '@/ui/toast';

/** RunPage is one run: how it stands and what it was asked to do. */
export function RunPage() {
  const { runId } = useParams({ from: '/shell/runs/$runId' });
  const { data: run, error, refetch } = useQuery(runQuery(runId));
  useTitle(run?.session_name ?? 'Run');
  if (run) return <Facts run={run} />;
  if (isCode(error, 'not_found')) return <NotFound what="run" />;
  if (error)
    return (
      <ErrorState
        title="The run could not be read"
        message={messageOf(error)}
        retry={() => void refetch()}
        className="pt-[12vh]"
      />
    );
  return (
    <Loading className="p-6">
      <Skeleton className="h-64" />
    </Loading>
  );
}

function Facts({ run }: { run: Run }) {
  const { data: hosts = [] } = useQuery(hostsQuery);
  const { data: item } = useQuery(workItemQuery(run.task_id));
  const stop = useStopRun();
  const host = hosts.find((other) => other.id === run.host_id);
  return (
    <>
      <PageHeader title={run.session_name} lead={<RunPill run={run} host={host} />}>
        {isActive(run) && (
          <Button
            busy={stop.isPending}
            onClick={() => stop.mutate(run.id, { onError: (error) => toast.error(messageOf(error)) })}
          >
            Stop
          </Button>
        )}
      </PageHeader>
      <div className="overflow-y-auto p-5">
        <dl className="grid max-w-3xl grid-cols-[8rem_1fr] gap-y-2.5 text-sm">
          {item && (
            <Fact name="Work item">
              <Link to="/t/$id" params={{ id: item.id }} className="text-accent hover:underline">
                {item.title}
              </Link>
            </Fact>
          )}
          <Fact name="Provider">
            {run.provider}
            {run.model && ` · ${run.model}`}
          </Fact>
          <Fact name="Host">{host?.name ?? 'none yet'}</Fact>
          <Fact name="Attempt">{run.attempt}</Fact>
          <Fact name="Created">
            <RelativeTime at={run.created_at} />
          </Fact>
          {run.status === 'failed' && <Fact name="Why">{failure(run)}</Fact>}
          {run.progress_message && <Fact name="Last word">{run.progress_message}</Fact>}
          {run.prompt && (
            <Fact name="Prompt">
              <pre className="rounded-lg bg-sunken p-3 font-mono text-xs whitespace-pre-wrap ring-1 ring-line ring-inset">
                {run.prompt}
              </pre>
            </Fact>
          )}
        </dl>
      </div>
    </>
  );
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <>
      <dt className="text-ink-3">{name}</dt>
      <dd className="min-w-0">{children}</dd>
    </>
  );
}
