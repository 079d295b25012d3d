import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { messageOf } from '@/api/error';
import { type Host, isActive, type Run } from '@/api/records';
import type { Workspace } from '@/api/schema.gen';
import { taskWorkspacesQuery, useWant } from '@/data/changes';
import { hostsQuery } from '@/data/queries';
import { span } from '@/lib/time';
import { useNow } from '@/lib/useNow';
import { Badge } from '@/ui/Badge';
import { Button } from '@/ui/Button';
import { toast } from '@/ui/toast';
import { Counts } from './Counts';
import { RunPill } from './RunPill';
import { failure } from './runState';

/** How many runs are compared at most. */
const most = 8;
const none: Workspace[] = [];
const noHost: Host[] = [];

/** CompareRuns shows the newest runs of one task side by side: their results, their durations, their changes. */
export function CompareRuns({ taskId, runs }: { taskId: string; runs: Run[] }) {
  const { data: copies = none } = useQuery(taskWorkspacesQuery(taskId));
  const { data: hosts = noHost } = useQuery(hostsQuery);
  const now = useNow();
  const shown = runs.slice(0, most);
  const copyOf = (run: Run): Workspace | undefined => copies.find(({ id }) => id === run.workspace_id);
  const line = (name: string, cell: (run: Run) => ReactNode) => (
    <tr className="border-b last:border-0">
      <th
        scope="row"
        className="sticky left-0 bg-panel py-2.5 pr-4 pl-5 text-left text-xs font-medium text-ink-3"
      >
        {name}
      </th>
      {shown.map((run) => (
        <td key={run.id} className="min-w-44 px-3 py-2.5 align-top text-sm break-words">
          {cell(run)}
        </td>
      ))}
    </tr>
  );
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a wide table is scrolled with the keys
    <section aria-label="Runs beside each other" tabIndex={0} className="min-h-0 flex-1 overflow-auto">
      <table className="w-full border-collapse">
        <thead>
          <tr className="border-b">
            <th
              scope="col"
              className="sticky left-0 bg-panel py-3 pr-4 pl-5 text-left text-xs font-medium text-ink-3"
            >
              Run
            </th>
            {shown.map((run) => (
              <th key={run.id} scope="col" className="px-3 py-3 text-left text-sm font-medium">
                <Link to="/runs/$runId" params={{ runId: run.id }} className="hover:underline">
                  {run.provider}
                  {run.model && <span className="text-ink-2"> {run.model}</span>}
                </Link>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {line('Outcome', (run) => (
            <RunPill run={run} host={hosts.find(({ id }) => id === run.host_id)} />
          ))}
          {line('Time', (run) => durationText(run, now))}
          {line('Changes', (run) => (
            <Changed run={run} copy={copyOf(run)} />
          ))}
          {line('It says', (run) => (
            <span className="line-clamp-4 text-xs text-ink-2">
              {run.status === 'failed' ? failure(run) : run.progress_message}
            </span>
          ))}
          {line('Work', (run) => {
            const copy = copyOf(run);
            return copy && <WorkResult copy={copy} active={isActive(run)} />;
          })}
        </tbody>
      </table>
      {runs.length > shown.length && (
        <p className="px-5 py-3 text-xs text-ink-3">
          These are the newest {shown.length} of {runs.length} runs.
        </p>
      )}
    </section>
  );
}

/** durationText describes how long a run worked, or how long it has worked so far. */
export function durationText(run: Run, now: number): string {
  if (!run.started_at) return isActive(run) ? 'Not started yet' : 'Did not start';
  const end = run.ended_at ? Date.parse(run.ended_at) : now;
  return `${span(Math.max(0, end - Date.parse(run.started_at)))}${run.ended_at ? '' : ' so far'}`;
}

function Changed({ run, copy }: { run: Run; copy?: Workspace }) {
  if (!copy) return <span className="text-xs text-ink-3">No working copy</span>;
  if (copy.files === 0) return <span className="text-xs text-ink-3">Nothing changed</span>;
  return (
    <Link
      to="/runs/$runId"
      params={{ runId: run.id }}
      search={{ tab: 'changes' }}
      className="inline-flex flex-wrap items-baseline gap-x-2 hover:underline"
    >
      <Counts additions={copy.additions} deletions={copy.deletions} />
      <span className="text-xs text-ink-2">{copy.files === 1 ? '1 file' : `${copy.files} files`}</span>
    </Link>
  );
}

/** WorkResult shows whether a run's work was landed or discarded. The user can discard it here, or undo that. */
function WorkResult({ copy, active }: { copy: Workspace; active: boolean }) {
  const want = useWant();
  const wanted = copy.discarded_at === null;
  if (copy.landed_commit) return <Badge tone="ok">Landed into {copy.landed_into}</Badge>;
  if (copy.state === 'removed') return <Badge>Removed</Badge>;
  return (
    <span className="flex flex-wrap items-center gap-2">
      {!wanted && <Badge tone="warn">Discarded</Badge>}
      <Button
        size="sm"
        busy={want.isPending}
        disabled={active && wanted}
        onClick={() =>
          want.mutate(
            { ids: [copy.id], wanted: !wanted },
            { onError: (error) => toast.error(messageOf(error)) },
          )
        }
      >
        {wanted ? 'Discard' : 'Restore'}
      </Button>
    </span>
  );
}
