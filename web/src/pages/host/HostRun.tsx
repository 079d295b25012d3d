import { Link } from '@tanstack/react-router';
import { type Host, type Run, taskRef } from '@/api/records';
import { RunPill } from '@/components/RunPill';
import { RelativeTime } from '@/ui/RelativeTime';

/** HostRun shows a run on its host's page. */
export function HostRun({ run, host }: { run: Run; host: Host }) {
  return (
    <Link
      to="/runs/$runId"
      params={{ runId: run.id }}
      className="flex items-center gap-3 px-4 py-2.5 hover:bg-hover"
    >
      <RunPill run={run} host={host} />
      <span className="min-w-0 flex-1 truncate text-sm">{run.task_title}</span>
      <span className="text-xs text-ink-3">{taskRef(run)}</span>
      <span className="text-xs text-ink-3 max-sm:hidden">{run.provider}</span>
      <RelativeTime
        at={run.ended_at ?? run.started_at ?? run.pending_since}
        className="text-xs text-ink-3 tabular"
      />
    </Link>
  );
}
