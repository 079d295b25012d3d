import { Link } from '@tanstack/react-router';
import { type Host, type Run, taskRef } from '@/api/records';
import { HostName } from '@/components/HostPill';
import { RelativeTime } from '@/ui/RelativeTime';

/** NeedsYou lists the runs that wait for a person, with their questions. */
export function NeedsYou({ runs, hosts }: { runs: Run[]; hosts: Host[] }) {
  return (
    <ul className="-m-px flex max-h-56 flex-col gap-1.5 overflow-y-auto p-px">
      {runs.map((run) => {
        const host = hosts.find((other) => other.id === run.host_id);
        return (
          <li key={run.id}>
            <Link
              to="/runs/$runId"
              params={{ runId: run.id }}
              className="flex flex-col gap-0.5 rounded-lg bg-panel px-3 py-2 shadow-1 ring-1 ring-warn/40 hover:ring-warn"
            >
              <span className="flex items-center gap-3">
                <span className="min-w-0 flex-1 truncate text-sm font-medium">
                  {taskRef(run)} {run.task_title}
                </span>
                {host && <HostName host={host} className="text-xs text-ink-3" />}
                <RelativeTime at={run.updated_at} className="text-xs text-ink-3 tabular" />
              </span>
              {run.progress_message && <span className="text-xs text-ink-2">{run.progress_message}</span>}
            </Link>
          </li>
        );
      })}
    </ul>
  );
}
