import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { ChevronRight, RotateCw, Square } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { type Host, isActive, isStopping, taskRef, type WorkItem } from '@/api/records';
import type { RunDetail } from '@/api/schema.gen';
import { Counts } from '@/components/Counts';
import { HostName } from '@/components/HostPill';
import { RunPill } from '@/components/RunPill';
import { StopDialog } from '@/components/StopDialog';
import { openStartRun } from '@/components/startRun';
import { workspaceQuery } from '@/data/changes';
import { span } from '@/lib/time';
import { useNow } from '@/lib/useNow';
import { Button } from '@/ui/Button';
import { cx } from '@/ui/cx';
import { RelativeTime } from '@/ui/RelativeTime';

const tabs = [
  { id: 'live', label: 'Live' },
  { id: 'changes', label: 'Changes' },
  { id: 'timeline', label: 'Timeline' },
  { id: 'log', label: 'Log' },
  { id: 'replay', label: 'Replay' },
  { id: 'details', label: 'Details' },
];

/** RunHeader shows a run's task and state, and has links to its views. */
export function RunHeader({
  run,
  host,
  item,
  tab,
}: {
  run: RunDetail;
  host?: Host;
  item?: WorkItem;
  tab: string;
}) {
  const [stopping, setStopping] = useState(false);
  return (
    <header className="flex flex-col border-b">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-2 px-4 pt-2.5 sm:px-5">
        <div className="flex min-w-0 flex-1 items-center gap-1.5 text-base">
          <Link to="/runs" search={{}} className="shrink-0 text-ink-3 hover:text-ink max-sm:hidden">
            Runs
          </Link>
          <ChevronRight aria-hidden className="size-3.5 shrink-0 text-ink-3 max-sm:hidden" />
          <span className="shrink-0 text-sm text-ink-3 max-sm:hidden">{taskRef(run)}</span>
          <h1 className="min-w-0 truncate font-semibold tracking-tight">
            {item ? (
              <Link to="/t/$id" params={{ id: item.id }} className="hover:underline">
                {item.title}
              </Link>
            ) : (
              run.session_name
            )}
          </h1>
        </div>
        <div className="flex items-center gap-1.5">
          {item && !isActive(run) && (
            <Button
              size="sm"
              icon={<RotateCw className="size-3.5" />}
              onClick={() => openStartRun(item, run)}
            >
              Run again
            </Button>
          )}
          {isActive(run) && (
            <Button
              size="sm"
              icon={<Square className="size-3 fill-current" />}
              onClick={() => setStopping(true)}
            >
              Stop
            </Button>
          )}
        </div>
      </div>
      <StatusLine run={run} host={host} />
      <nav aria-label="Views of this run" className="flex gap-1 overflow-x-auto px-2.5 sm:px-3.5">
        {tabs.map((each) => (
          <Link
            key={each.id}
            to="/runs/$runId"
            params={{ runId: run.id }}
            search={each.id === 'live' ? {} : { tab: each.id }}
            aria-current={tab === each.id ? 'page' : undefined}
            className={cx(
              '-mb-px shrink-0 border-b-2 px-2 pt-1 pb-2 text-sm font-medium whitespace-nowrap',
              tab === each.id ? 'border-accent text-ink' : 'border-transparent text-ink-3 hover:text-ink',
            )}
          >
            {each.label}
            {each.id === 'changes' && run.workspace_id && <Changed id={run.workspace_id} />}
          </Link>
        ))}
      </nav>
      {stopping && <StopDialog run={run} host={host} onClose={() => setStopping(false)} />}
    </header>
  );
}

/** Changed shows how many lines a run has changed so far. */
function Changed({ id }: { id: string }) {
  const { data } = useQuery(workspaceQuery(id));
  if (!data || data.files === 0) return null;
  return <Counts additions={data.additions} deletions={data.deletions} className="ml-1.5 text-2xs" />;
}

/** StatusLine shows the changing facts of a run, each with its age. */
function StatusLine({ run, host }: { run: RunDetail; host?: Host }) {
  const now = useNow();
  const began = run.started_at ?? run.pending_since;
  const took = run.ended_at && run.started_at ? Date.parse(run.ended_at) - Date.parse(run.started_at) : null;
  return (
    <div className="flex flex-wrap items-center gap-x-4 gap-y-1 px-4 py-2 text-xs text-ink-2 sm:px-5">
      <RunPill run={run} host={host} alone />
      <Fact name="Provider">
        {run.provider}
        {run.model && <span className="text-ink-3"> {run.model}</span>}
      </Fact>
      {host && (
        <Fact name="Host">
          <Link to="/hosts/$hostId" params={{ hostId: host.id }} className="hover:text-ink hover:underline">
            <HostName host={host} />
          </Link>
        </Fact>
      )}
      {isActive(run) ? (
        <Fact name={run.status === 'pending' ? 'Queued' : 'Since'}>
          {span(Math.max(0, now - Date.parse(began)))}
        </Fact>
      ) : (
        <Fact name="Ended">
          <RelativeTime at={run.ended_at ?? run.updated_at} />
          {took !== null && <span className="text-ink-3">after {span(took)}</span>}
        </Fact>
      )}
      {isActive(run) && run.last_output_at && (
        <Fact name="Last output">
          <RelativeTime at={run.last_output_at} />
        </Fact>
      )}
      {run.exit_code !== null && <Fact name="Exit code">{run.exit_code}</Fact>}
      {(run.attempt > 1 || run.restart_policy !== 'never') && (
        <Fact name="Attempt">
          {run.attempt}
          {run.restart_policy !== 'never' && <span className="text-ink-3"> of {run.max_restarts + 1}</span>}
        </Fact>
      )}
      {isActive(run) && run.progress_message && !run.needs_input && <Progress run={run} />}
      {isStopping(run) && <span className="text-ink-3">Its session is being ended.</span>}
    </div>
  );
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <span className="inline-flex min-w-0 items-center gap-1.5 tabular">
      <span className="text-ink-3">{name}</span>
      <span className="inline-flex min-w-0 gap-1 truncate">{children}</span>
    </span>
  );
}

function Progress({ run }: { run: RunDetail }) {
  const percent = run.progress_percent === null ? null : Math.min(100, run.progress_percent);
  return (
    <span className="inline-flex min-w-0 items-center gap-2">
      {percent !== null && (
        <span
          role="progressbar"
          aria-label="Progress"
          aria-valuenow={percent}
          className="h-1 w-16 shrink-0 overflow-hidden rounded-full bg-line-strong"
        >
          <span className="block h-full rounded-full bg-accent" style={{ width: `${percent}%` }} />
        </span>
      )}
      <span className="truncate">{run.progress_message}</span>
    </span>
  );
}
