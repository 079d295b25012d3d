import { WifiOff } from 'lucide-react';
import { useEffect, useState } from 'react';
import { span } from '@/lib/time';
import { useNow } from '@/lib/useNow';
import { useConnection } from '@/live/connection';
import { cx } from '@/ui/cx';
import { tip } from '@/ui/Tooltip';

/** How long after the loss of the stream only the dot shows it, in ms. Then the banner appears. */
const patience = 10_000;

/** ConnectionDot shows whether the page receives live events from the server. */
export function ConnectionDot({ words }: { words: string }) {
  const state = useConnection((connection) => connection.state);
  const live = state === 'open';
  const name = live ? 'Live' : state === 'idle' ? 'Paused' : 'Connecting';
  const about = live
    ? 'Changes appear as they happen.'
    : 'What you see may be a little old. It catches up by itself.';
  return (
    <div
      role="status"
      {...tip(`${name}. ${about}`, undefined, 'right')}
      aria-label={`Connection: ${name}`}
      className="flex h-8 items-center gap-2.5 px-2 text-sm text-ink-3"
    >
      <span className="flex size-4 items-center justify-center">
        <span
          className={cx(
            'size-2 rounded-full',
            live ? 'bg-ok' : 'animate-breathe bg-warn [animation-iteration-count:infinite]',
          )}
        />
      </span>
      <span className={words}>{name}</span>
    </div>
  );
}

/** ConnectionBanner appears when the stream has been lost for a while. The rest of the page stays as it is. */
export function ConnectionBanner() {
  const since = useConnection((connection) => connection.downSince);
  const late = useLater(since === null ? null : since + patience);
  const now = useNow();
  if (since === null || !late) return null;
  return (
    <div role="status" className="flex items-center gap-2 border-b px-4 py-1.5 text-xs font-medium tone-warn">
      <WifiOff className="size-3.5" />
      <span>
        No connection for {span(Math.max(now - since, patience))}. You see the last known state; svc keeps
        trying.
      </span>
    </div>
  );
}

/** useLater becomes true at a time in ms; null: never. */
function useLater(at: number | null): boolean {
  const [reached, setReached] = useState<number | null>(null);
  useEffect(() => {
    if (at === null) return;
    const timer = setTimeout(() => setReached(at), Math.max(0, at - Date.now()));
    return () => clearTimeout(timer);
  }, [at]);
  return at !== null && reached === at;
}
