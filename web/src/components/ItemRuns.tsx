import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Play } from 'lucide-react';
import { messageOf } from '@/api/error';
import type { WorkItem } from '@/api/records';
import { hostsQuery, runsQuery } from '@/data/queries';
import { Button } from '@/ui/Button';
import { RelativeTime } from '@/ui/RelativeTime';
import { Loading, Skeleton } from '@/ui/States';
import { RunPill } from './RunPill';
import { failure } from './runState';
import { openStartRun } from './startRun';

/** ItemRuns lists the runs of an item, newest first. */
export function ItemRuns({ item }: { item: WorkItem }) {
  const { data: runs, error, isPending } = useQuery(runsQuery({ task_id: item.id }));
  const { data: hosts = [] } = useQuery(hostsQuery);
  return (
    <section aria-label="Runs" className="flex flex-col gap-2">
      <h2 className="text-sm font-semibold">Runs</h2>
      {isPending && (
        <Loading label="Loading the runs">
          <Skeleton className="h-12" />
        </Loading>
      )}
      {error && !runs && (
        <p role="alert" className="text-sm text-bad">
          {messageOf(error)}
        </p>
      )}
      {runs?.length === 0 && (
        <div className="flex flex-wrap items-center justify-between gap-3 rounded-xl border border-dashed px-4 py-3">
          <span className="text-sm text-ink-3">No agent has worked on this yet.</span>
          <Button size="sm" icon={<Play className="size-3.5" />} onClick={() => openStartRun(item)}>
            Start a run
          </Button>
        </div>
      )}
      {runs && runs.length > 0 && (
        <ul className="overflow-hidden rounded-xl bg-panel ring-1 ring-line ring-inset">
          {runs.map((run) => {
            const host = hosts.find((other) => other.id === run.host_id);
            const why = run.status === 'failed' ? failure(run) : run.progress_message;
            return (
              <li key={run.id} className="border-b last:border-0">
                <Link
                  to="/runs/$runId"
                  params={{ runId: run.id }}
                  className="flex flex-col gap-1 px-3 py-2.5 hover:bg-hover"
                >
                  <span className="flex items-center gap-2.5">
                    <RunPill run={run} host={host} />
                    <span className="truncate text-sm">{run.provider}</span>
                    {run.attempt > 1 && <span className="text-xs text-ink-3">attempt {run.attempt}</span>}
                    <span className="ml-auto flex shrink-0 items-center gap-2 text-xs text-ink-3">
                      {host?.name}
                      <RelativeTime at={run.created_at} />
                    </span>
                  </span>
                  {why && <span className="line-clamp-2 text-xs text-ink-2">{why}</span>}
                </Link>
              </li>
            );
          })}
        </ul>
      )}
    </section>
  );
}
