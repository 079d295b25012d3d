import { Link } from '@tanstack/react-router';
import { memo } from 'react';
import { type Host, isActive, type Run, taskRef } from '@/api/records';
import { HostName } from '@/components/HostPill';
import { headOf } from '@/components/Reason';
import { RunPill } from '@/components/RunPill';
import { failure } from '@/components/runState';
import { span } from '@/lib/time';
import { useNow } from '@/lib/useNow';
import { Checkbox } from '@/ui/Checkbox';
import { cx } from '@/ui/cx';
import { RelativeTime } from '@/ui/RelativeTime';

/** RunRow shows one run of the list: its task, its host, and its times. */
export const RunRow = memo(function RunRow({
  run,
  host,
  selected,
  onToggle,
}: {
  run: Run;
  host?: Host;
  selected: boolean;
  onToggle(id: string, range: boolean): void;
}) {
  const words =
    run.status === 'failed'
      ? headOf(failure(run))
      : ((isActive(run) ? (run.hint ?? run.progress_message) : run.result_reason) ??
        run.prompt_excerpt?.split('\n')[0]);
  return (
    <div
      data-row={run.id}
      className={cx(
        'flex min-h-14 items-center border-b pl-2 hover:bg-hover sm:pl-3',
        selected ? 'bg-accent/4' : run.needs_input && isActive(run) && 'bg-warn/6',
      )}
    >
      <Checkbox
        label={`Select ${run.task_title}, ${run.session_name}`}
        checked={selected}
        onToggle={(range) => onToggle(run.id, range)}
      />
      <Link
        to="/runs/$runId"
        params={{ runId: run.id }}
        className="grid min-w-0 flex-1 grid-cols-[1fr_auto] items-center gap-x-4 gap-y-1 py-2 pr-4 pl-2 sm:grid-cols-[7.5rem_1fr_9rem_7rem] sm:pr-5"
      >
        <span className="max-sm:order-2">
          <RunPill run={run} host={host} />
        </span>
        <span className="flex min-w-0 flex-col max-sm:order-1">
          <span className="truncate text-sm font-medium">{run.task_title}</span>
          <span className="flex min-w-0 gap-2 text-xs text-ink-3">
            <span className="shrink-0">{taskRef(run)}</span>
            <span className="shrink-0">{run.provider}</span>
            {run.attempt > 1 && <span className="shrink-0">attempt {run.attempt}</span>}
            {words && (
              <span className={cx('truncate', run.needs_input ? 'text-warn' : 'text-ink-2')}>{words}</span>
            )}
          </span>
        </span>
        <span className="min-w-0 text-xs text-ink-2 max-sm:order-3">
          {host && isActive(run) ? (
            <HostName host={host} />
          ) : host ? (
            <span className="truncate">{host.name}</span>
          ) : (
            <span className="text-ink-3">{isActive(run) ? 'no host yet' : ''}</span>
          )}
        </span>
        <span className="text-right text-xs text-ink-3 tabular max-sm:order-4">
          <Ages run={run} />
        </span>
      </Link>
    </div>
  );
});

/** Ages shows the duration and last output of an active run, or when an ended run ended and its duration. */
function Ages({ run }: { run: Run }) {
  const now = useNow();
  if (run.status === 'running' && run.started_at) {
    return (
      <span className="flex flex-col">
        <span className="text-ink-2">{span(Math.max(0, now - Date.parse(run.started_at)))}</span>
        {run.last_output_at && (
          <span className="max-sm:hidden">
            output <RelativeTime at={run.last_output_at} />
          </span>
        )}
      </span>
    );
  }
  const took = run.ended_at && run.started_at ? Date.parse(run.ended_at) - Date.parse(run.started_at) : null;
  return (
    <span className="flex flex-col">
      <RelativeTime at={run.ended_at ?? run.pending_since} className="text-ink-2" />
      {took !== null && <span className="max-sm:hidden">took {span(took)}</span>}
    </span>
  );
}
