import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { messageOf } from '@/api/error';
import { type Run, taskRef } from '@/api/records';
import { waitsFor } from '@/components/waiting';
import { useChangeWait } from '@/data/actions';
import { waitingQuery } from '@/data/queries';
import { exact, span } from '@/lib/time';
import { useNow } from '@/lib/useNow';
import { Select } from '@/ui/Field';
import { RelativeTime } from '@/ui/RelativeTime';
import { toast } from '@/ui/toast';

const priorities = [
  { value: 2, label: 'Highest' },
  { value: 1, label: 'High' },
  { value: 0, label: 'Normal' },
  { value: -1, label: 'Low' },
  { value: -2, label: 'Lowest' },
];

/** QueueRow is one run that waits: its place, why it waits, and its priority to change. */
export function QueueRow({ run }: { run: Run }) {
  const { data: waiting, error } = useQuery(waitingQuery(run.id));
  const change = useChangeWait();
  const now = useNow();
  const ends = waiting?.times_out_at ? Date.parse(waiting.times_out_at) - now : null;
  const words = waiting ? waitsFor(waiting).map((each) => messageOf(new Error(each))) : [];
  return (
    <div className="flex min-h-18 flex-wrap items-center gap-x-4 gap-y-2 border-b px-4 py-2 sm:px-5">
      <span className="w-8 shrink-0 text-right text-sm font-medium tabular">
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
      <span className="w-28 shrink-0">
        <Select
          aria-label={`Priority of ${run.task_title}`}
          value={run.priority}
          disabled={change.isPending}
          onChange={(event) =>
            change.mutate(
              { id: run.id, patch: { priority: Number(event.target.value) } },
              { onError: (failed) => toast.error(messageOf(failed)) },
            )
          }
        >
          {priorities.map(({ value, label }) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
        </Select>
      </span>
    </div>
  );
}
