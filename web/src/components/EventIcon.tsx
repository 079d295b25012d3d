import {
  ArrowRightLeft,
  CircleCheck,
  CircleX,
  Clock,
  Hand,
  Keyboard,
  type LucideIcon,
  MessageSquare,
  Pencil,
  Play,
  Plus,
  Repeat,
  Server,
  Square,
  Trash2,
  TriangleAlert,
} from 'lucide-react';
import { tones } from '@/ui/Badge';
import { cx } from '@/ui/cx';
import type { EventText } from './eventText';

const icons: Record<EventText['icon'], LucideIcon> = {
  plus: Plus,
  pen: Pencil,
  move: ArrowRightLeft,
  trash: Trash2,
  clock: Clock,
  play: Play,
  check: CircleCheck,
  cross: CircleX,
  square: Square,
  hand: Hand,
  message: MessageSquare,
  keyboard: Keyboard,
  server: Server,
  warn: TriangleAlert,
  repeat: Repeat,
};

/** EventIcon shows an event's kind and tone as an icon. The words are beside it. */
export function EventIcon({ text, className }: { text: EventText; className?: string }) {
  const Icon = icons[text.icon];
  return (
    <span
      aria-hidden
      className={cx(
        'flex size-6 shrink-0 items-center justify-center rounded-full',
        tones[text.tone],
        className,
      )}
    >
      <Icon className="size-3.5" />
    </span>
  );
}
