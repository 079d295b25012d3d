import type { Host } from '@/api/records';
import { cx } from '@/ui/cx';

/** Load shows a host's number of runs and its maximum. */
export function Load({ host }: { host: Host }) {
  const { active_runs: runs, max_runs: most } = host;
  const full = most !== null && runs >= most;
  return (
    <span className="inline-flex items-center gap-2 text-xs text-ink-2 tabular">
      {most !== null && most > 0 && (
        <span aria-hidden className="h-1 w-12 overflow-hidden rounded-full bg-line-strong">
          <span
            className={cx('block h-full rounded-full', full ? 'bg-warn' : 'bg-accent')}
            style={{ width: `${Math.min(100, (runs / most) * 100)}%` }}
          />
        </span>
      )}
      {most === null ? `${runs} ${runs === 1 ? 'run' : 'runs'}` : `${runs} of ${most} runs`}
    </span>
  );
}
