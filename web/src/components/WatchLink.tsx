import { Link } from '@tanstack/react-router';
import { LayoutGrid } from 'lucide-react';
import type { Run } from '@/api/records';

/** WatchLink is a link to the screens of the given runs that are running. */
export function WatchLink({ runs }: { runs: readonly Run[] }) {
  const running = runs.filter((run) => run.status === 'running').map((run) => run.id);
  if (running.length === 0) return null;
  return (
    <Link
      to="/wall"
      search={{ runs: running }}
      className="inline-flex h-7 items-center gap-1.5 rounded-md px-2.5 text-xs font-medium text-ink-2 hover:bg-hover hover:text-ink"
    >
      <LayoutGrid className="size-3.5" /> Watch {running.length}
    </Link>
  );
}
