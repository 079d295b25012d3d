import { Link } from '@tanstack/react-router';
import {
  Check,
  CircleX,
  Clock,
  FileDiff,
  GitMerge,
  Hand,
  type LucideIcon,
  MessageSquareWarning,
  Server,
} from 'lucide-react';
import type { InboxItem } from '@/api/schema.gen';
import { exact } from '@/lib/time';
import { Button } from '@/ui/Button';
import { cx } from '@/ui/cx';
import { Menu, MenuItem } from '@/ui/Menu';
import { MenuButton } from '@/ui/MenuButton';
import { RelativeTime } from '@/ui/RelativeTime';
import { Answer } from './Answer';
import { linkOf } from './link';
import { untils } from './snooze';

const kinds: Record<InboxItem['kind'], { word: string; icon: LucideIcon; tone: string }> = {
  needs_input: { word: 'Question', icon: Hand, tone: 'text-warn' },
  failed: { word: 'Failed', icon: CircleX, tone: 'text-bad' },
  review: { word: 'To review', icon: FileDiff, tone: 'text-accent' },
  unconfirmed: { word: 'Message', icon: MessageSquareWarning, tone: 'text-warn' },
  land_failed: { word: 'Landing failed', icon: GitMerge, tone: 'text-bad' },
  host: { word: 'Host', icon: Server, tone: 'text-warn' },
};

/** InboxRow is one entry: what is the matter, since when, and what can be done about it here. */
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
      <div className="flex flex-wrap items-center gap-1.5 pl-7">
        {item.kind === 'needs_input' && item.run_id && <Answer runId={item.run_id} about={item.title} />}
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
                {untils(new Date()).map((until) => (
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
