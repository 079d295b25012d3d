import { count } from '@/lib/count';
import { cx } from '@/ui/cx';

/** Counts shows how many lines were added and removed. */
export function Counts({
  additions,
  deletions,
  className = 'text-xs',
}: {
  additions: number;
  deletions: number;
  className?: string;
}) {
  return (
    <span className={cx('shrink-0 font-mono tabular', className)}>
      <span className="text-ok">{`+${count(additions)}`}</span>{' '}
      <span className="text-bad">{`−${count(deletions)}`}</span>
    </span>
  );
}
