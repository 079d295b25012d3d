import { ago, exact } from '@/lib/time';
import { useNow } from '@/lib/useNow';

/** RelativeTime shows how long ago a moment was. Its title has the exact time. */
export function RelativeTime({ at, className }: { at: string; className?: string }) {
  const now = useNow();
  return (
    <time dateTime={at} title={exact(at)} className={className}>
      {ago(at, now)}
    </time>
  );
}
