import { Ban, Circle, CircleCheck, CircleDashed, CircleDot, Hand, Hourglass } from 'lucide-react';
import type { ItemStatus, Kind } from '@/api/records';
import { cx } from '@/ui/cx';
import { Glyph } from '@/ui/Glyph';

/** kindNames has the words for the kinds of work items. */
export const kindNames: Record<Kind, string> = {
  milestone: 'Milestone',
  epic: 'Epic',
  task: 'Task',
  subtask: 'Subtask',
};
/** statusNames has the names of the board's columns. */
export const statusNames: Record<ItemStatus, string> = {
  todo: 'To do',
  doing: 'Doing',
  done: 'Done',
  cancelled: 'Cancelled',
};

const kindColors: Record<Kind, string> = {
  milestone: 'text-violet',
  epic: 'text-accent',
  task: 'text-info',
  subtask: 'text-ink-3',
};

/** KindIcon shows a kind as an icon. named gives it an accessible name; use it where no word is beside the icon. */
export function KindIcon({ kind, className, named }: { kind: Kind; className?: string; named?: boolean }) {
  return (
    <Glyph
      shape={kind}
      name={named ? kindNames[kind] : undefined}
      className={cx('size-3.5 shrink-0', kindColors[kind], className)}
    />
  );
}

const statusIcons = { todo: CircleDashed, doing: CircleDot, done: CircleCheck, cancelled: Ban };
const statusColors: Record<ItemStatus, string> = {
  todo: 'text-ink-3',
  doing: 'text-info',
  done: 'text-ok',
  cancelled: 'text-ink-3',
};

/** StatusIcon shows a work item's status as an icon. */
export function StatusIcon({
  status,
  className,
  named,
}: {
  status: ItemStatus;
  className?: string;
  named?: boolean;
}) {
  const Icon = statusIcons[status] ?? Circle;
  return (
    <Icon
      aria-hidden={named ? undefined : true}
      role={named ? 'img' : undefined}
      aria-label={named ? statusNames[status] : undefined}
      className={cx('size-4 shrink-0', statusColors[status], className)}
    />
  );
}

/** ChildProgress shows how many of an item's children are done. */
export function ChildProgress({
  done,
  total,
  className,
}: {
  done: number;
  total: number;
  className?: string;
}) {
  const part = total === 0 ? 0 : done / total;
  const round = 2 * Math.PI * 5;
  return (
    <span
      role="img"
      aria-label={`${done} of ${total} children done`}
      className={cx('inline-flex items-center gap-1 text-2xs text-ink-2 tabular', className)}
    >
      <svg viewBox="0 0 14 14" aria-hidden="true" className="size-3.5 -rotate-90">
        <circle cx="7" cy="7" r="5" fill="none" strokeWidth="2.5" className="stroke-line-strong" />
        <circle
          cx="7"
          cy="7"
          r="5"
          fill="none"
          strokeWidth="2.5"
          strokeDasharray={`${part * round} ${round}`}
          className={part === 1 ? 'stroke-ok' : 'stroke-accent'}
        />
      </svg>
      {done}/{total}
    </span>
  );
}

/** WaitsBadge shows that an item is blocked by count items that it needs; 0: by the needs of an item above it. */
export function WaitsBadge({ count }: { count: number }) {
  return (
    <span className="inline-flex shrink-0 items-center gap-1 text-2xs font-medium text-ink-2 tabular">
      <Hourglass aria-hidden className="size-3" />
      {count > 0 ? `waits for ${count}` : 'waits for others'}
    </span>
  );
}

/** NeedsYouBadge shows how many records wait for a person. */
export function NeedsYouBadge({ count }: { count: number }) {
  return (
    <span className="inline-flex shrink-0 items-center gap-1 text-2xs font-medium text-warn tabular">
      <Hand aria-hidden className="size-3" />
      {count === 1 ? '1 needs you' : `${count} need you`}
    </span>
  );
}
