import { ago, exact } from '@/lib/time';
import { useNow } from '@/lib/useNow';

/** RelativeTime is how long ago something was; hovering tells the exact moment. */
export function RelativeTime({ at, className }: { at: string; className?: string }) {
  const now = useNow();
  return (
    <time dateTime={at} title={exact(at)} className={className}>
      {ago(at, now)}
    </time>
  );
}
