import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { LayoutGrid, SquareArrowOutUpRight } from 'lucide-react';
import { messageOf } from '@/api/error';
import { type Host, taskRef } from '@/api/records';
import type { RunDetail } from '@/api/schema.gen';
import { RunPill } from '@/components/RunPill';
import { runQuery } from '@/data/queries';
import { useShortcuts } from '@/lib/shortcuts';
import { Live } from '@/pages/run/Live';
import { Button } from '@/ui/Button';
import { ErrorState, Loading, Skeleton } from '@/ui/States';

/** Enlarged shows one run of the wall at full size, to watch and to type into. Esc returns to the wall. */
export function Enlarged({
  runId,
  hosts,
  onClose,
}: {
  runId: string;
  hosts: ReadonlyMap<string, Host>;
  onClose(): void;
}) {
  const { data, error, refetch } = useQuery(runQuery(runId));
  useShortcuts({ Escape: onClose });
  const run = data as RunDetail | undefined;
  const host = run && hosts.get(run.host_id ?? '');
  return (
    <section aria-label="Enlarged" className="flex min-h-0 flex-1 flex-col">
      <header className="flex flex-wrap items-center gap-x-3 gap-y-1.5 border-b px-4 py-2 sm:px-5">
        <Button size="sm" icon={<LayoutGrid className="size-3.5" />} onClick={onClose}>
          Back to the wall
        </Button>
        {run && (
          <>
            <h1 className="min-w-0 flex-1 truncate text-sm font-semibold">
              <span className="text-xs font-normal text-ink-3">{taskRef(run)}</span> {run.task_title}
            </h1>
            <RunPill run={run} host={host} alone />
            <Link
              to="/runs/$runId"
              params={{ runId }}
              search={{}}
              className="inline-flex items-center gap-1.5 text-xs text-ink-2 hover:text-ink hover:underline"
            >
              <SquareArrowOutUpRight className="size-3.5" /> Its page
            </Link>
          </>
        )}
      </header>
      {run ? (
        <Live key={run.id} run={run} host={host} />
      ) : error ? (
        <ErrorState
          title="The run could not be read"
          message={messageOf(error)}
          retry={() => void refetch()}
        />
      ) : (
        <Loading label="Loading the run" className="flex flex-1 p-5">
          <Skeleton className="flex-1" />
        </Loading>
      )}
    </section>
  );
}
