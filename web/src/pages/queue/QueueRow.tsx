import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { messageOf } from '@/api/error';
import { isHeld, type Run, taskRef } from '@/api/records';
import { HoldButton } from '@/components/HoldButton';
import { priorities } from '@/components/priorities';
import { waitsFor } from '@/components/waiting';
import { waitingQuery } from '@/data/queries';
import { exact, span } from '@/lib/time';
import { useNow } from '@/lib/useNow';
import { Checkbox } from '@/ui/Checkbox';
import { cx } from '@/ui/cx';
import { Select } from '@/ui/Field';
import { RelativeTime } from '@/ui/RelativeTime';
import { useQueueDrag } from './useQueueDrag';

/**
 * QueueRow shows a waiting run: its place, why it waits, and its priority, which can be changed by menu or by dragging.
 */
export function QueueRow({
  run,
  selected,
  onToggle,
  onPriority,
}: {
  run: Run;
  onPriority(run: Run, priority: number): void;
  selected: boolean;
  onToggle(id: string, range: boolean): void;
}) {
  const { data: waiting, error } = useQuery(waitingQuery(run.id));
  const { ref, dragging, edge } = useQueueDrag(run.id);
  const now = useNow();
  const ends = waiting?.times_out_at ? Date.parse(waiting.times_out_at) - now : null;
  const words = waiting ? waitsFor(waiting).map((each) => messageOf(new Error(each))) : [];
  return (
    <div
      ref={ref}
      data-row={run.id}
      className={cx(
        'relative flex min-h-18 flex-wrap items-center gap-x-3 gap-y-2 border-b py-2 pr-4 pl-2 sm:pr-5 sm:pl-3',
        selected && 'bg-accent/4',
        dragging && 'opacity-40',
      )}
    >
      <Checkbox
        label={`Select ${run.task_title}`}
        checked={selected}
        onToggle={(range) => onToggle(run.id, range)}
      />
      <span className="w-6 shrink-0 text-right text-sm font-medium tabular">
        {waiting?.position ?? <span className="text-ink-3">–</span>}
        <span className="sr-only">
          {waiting?.position ? ' in the queue' : ' has no place in the queue yet'}
        </span>
      </span>
      <div className="flex min-w-0 flex-1 basis-56 flex-col gap-0.5">
        <Link
          to="/runs/$runId"
          params={{ runId: run.id }}
          search={{}}
          className="truncate text-sm font-medium hover:underline"
        >
          {run.task_title}
        </Link>
        <span className="flex flex-wrap gap-x-2 text-xs text-ink-3">
          <span>{taskRef(run)}</span>
          <span>{run.provider}</span>
          <span>
            waits since <RelativeTime at={run.pending_since} />
          </span>
          {ends !== null && (
            <span title={exact(waiting?.times_out_at as string)}>
              {ends > 0 ? `fails in ${span(ends)} if no host takes it` : 'fails any moment'}
            </span>
          )}
        </span>
        <span className="text-xs break-words text-ink-2">{error ? messageOf(error) : words.join(' ')}</span>
      </div>
      <HoldButton runs={[run]} held={isHeld(run)} of={run.task_title} />
      <span className="w-28 shrink-0">
        <Select
          aria-label={`Priority of ${run.task_title}`}
          value={run.priority}
          onChange={(event) => onPriority(run, Number(event.target.value))}
        >
          {priorities.map(({ value, label }) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
        </Select>
      </span>
      {edge && (
        <span
          aria-hidden
          className={cx(
            'pointer-events-none absolute inset-x-2 h-0.5 rounded-full bg-accent',
            edge === 'top' ? '-top-px' : '-bottom-px',
          )}
        />
      )}
    </div>
  );
}
