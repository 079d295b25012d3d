import { Link, useNavigate } from '@tanstack/react-router';
import {
  Check,
  CircleX,
  Clock,
  FileDiff,
  GitMerge,
  Hand,
  type LucideIcon,
  MessageSquareWarning,
  RotateCw,
  ScrollText,
  Server,
} from 'lucide-react';
import { useState } from 'react';
import { messageOf } from '@/api/error';
import type { InboxItem } from '@/api/schema.gen';
import { useRerun } from '@/data/actions';
import { randomKey } from '@/lib/id';
import { exact } from '@/lib/time';
import { Button } from '@/ui/Button';
import { cx } from '@/ui/cx';
import { Menu, MenuItem } from '@/ui/Menu';
import { MenuButton } from '@/ui/MenuButton';
import { RelativeTime } from '@/ui/RelativeTime';
import { toast } from '@/ui/toast';
import { Answer } from './Answer';
import { LastLines } from './LastLines';
import { linkOf } from './link';
import { snoozeTimes } from './snooze';

const kinds: Record<InboxItem['kind'], { word: string; icon: LucideIcon; tone: string }> = {
  needs_input: { word: 'Question', icon: Hand, tone: 'text-warn' },
  failed: { word: 'Failed', icon: CircleX, tone: 'text-bad' },
  review: { word: 'To review', icon: FileDiff, tone: 'text-accent' },
  unconfirmed: { word: 'Message', icon: MessageSquareWarning, tone: 'text-warn' },
  land_failed: { word: 'Landing failed', icon: GitMerge, tone: 'text-bad' },
  host: { word: 'Host', icon: Server, tone: 'text-warn' },
};

const way =
  'inline-flex h-7 items-center gap-1.5 rounded-md px-2.5 text-xs font-medium text-ink-2 ring-1 ring-line ring-inset hover:bg-hover hover:text-ink';

/** InboxRow shows one entry: the problem, its age, and the actions that are possible here. */
export function InboxRow({
  item,
  chosen,
  onDismiss,
  onSnooze,
}: {
  item: InboxItem;
  chosen: boolean;
  onDismiss(): void;
  onSnooze(until: Date): void;
}) {
  const kind = kinds[item.kind];
  return (
    <li
      aria-current={chosen || undefined}
      className={cx('flex flex-col gap-2 border-b px-4 py-3 sm:px-5', chosen && 'bg-hover')}
    >
      <div className="flex items-start gap-3">
        <kind.icon aria-hidden className={cx('mt-0.5 size-4 shrink-0', kind.tone)} />
        <Link {...linkOf(item)} className="flex min-w-0 flex-1 flex-col gap-0.5 hover:underline">
          <span className="flex min-w-0 items-baseline gap-2">
            <span className="truncate text-sm font-medium">{item.title}</span>
            <span className={cx('shrink-0 text-2xs', kind.tone)}>{kind.word}</span>
          </span>
          <span className="text-sm break-words whitespace-pre-wrap text-ink-2">{item.text}</span>
        </Link>
        <span className="flex shrink-0 flex-col items-end gap-0.5 text-xs text-ink-3 tabular">
          <RelativeTime at={item.since} />
          {item.snoozed_until && <span title={exact(item.snoozed_until)}>snoozed</span>}
        </span>
      </div>
      {item.run_id && (item.kind === 'needs_input' || item.kind === 'failed') && (
        <div className="sm:pl-7">
          <LastLines runId={item.run_id} about={item.title} />
        </div>
      )}
      <div className="flex flex-wrap items-center gap-1.5 sm:pl-7">
        {item.kind === 'needs_input' && item.run_id && <Answer runId={item.run_id} about={item.title} />}
        {item.kind === 'failed' && item.run_id && <Failed runId={item.run_id} about={item.title} />}
        {(item.kind === 'review' || item.kind === 'land_failed') && (
          <Link {...linkOf(item)} className={way}>
            <FileDiff className="size-3.5" /> See the changes
          </Link>
        )}
        <span className="ml-auto flex gap-1.5">
          <MenuButton
            trigger={(props) => (
              <Button
                {...props}
                size="sm"
                variant="ghost"
                icon={<Clock className="size-3.5" />}
                aria-label={`Snooze ${item.title}`}
              >
                Snooze
              </Button>
            )}
            menu={(place) => (
              <Menu {...place} label="Snooze">
                {snoozeTimes(new Date()).map((until) => (
                  <MenuItem key={until.label} onSelect={() => onSnooze(until.at)}>
                    {until.label}
                  </MenuItem>
                ))}
              </Menu>
            )}
          />
          <Button
            size="sm"
            variant="ghost"
            icon={<Check className="size-3.5" />}
            aria-label={`Done with ${item.title}`}
            onClick={onDismiss}
          >
            Done
          </Button>
        </span>
      </div>
    </li>
  );
}

/** Failed has the actions for a failed run: to run it again, or to see why it failed. */
function Failed({ runId, about }: { runId: string; about: string }) {
  const rerun = useRerun();
  const navigate = useNavigate();
  // One key per entry: a second click does not start a second run.
  const [key] = useState(randomKey);
  const again = (): void =>
    rerun.mutate(
      { id: runId, key },
      {
        onSuccess: ({ id }) =>
          toast.success(`“${about}” is queued again`, {
            action: {
              label: 'Watch',
              onClick: () => void navigate({ to: '/runs/$runId', params: { runId: id } }),
            },
          }),
        onError: (error) => toast.error(messageOf(error)),
      },
    );
  return (
    <>
      <Button
        size="sm"
        icon={<RotateCw className="size-3.5" />}
        busy={rerun.isPending}
        aria-label={`Run again: ${about}`}
        data-again=""
        onClick={again}
      >
        Run again
      </Button>
      <Link to="/runs/$runId" params={{ runId }} search={{ tab: 'log' }} className={way}>
        <ScrollText className="size-3.5" /> Log
      </Link>
    </>
  );
}
