import { BookOpenText, CornerDownLeft, Expand, Keyboard, Scaling } from 'lucide-react';
import { messageOf } from '@/api/error';
import { type Host, isActive } from '@/api/records';
import type { RunDetail } from '@/api/schema.gen';
import { canAttach } from '@/components/runState';
import { useSendKeys } from '@/data/actions';
import { ago, exact, span } from '@/lib/time';
import { useNow } from '@/lib/useNow';
import type { PaneState } from '@/terminal/usePane';
import { Button } from '@/ui/Button';
import { Segmented } from '@/ui/Segmented';
import { tip } from '@/ui/Tooltip';
import { toast } from '@/ui/toast';

/** PaneMode is how the screen is shown: scaled to fit, at full size, or as text. */
export type PaneMode = 'fit' | 'full' | 'reader';

/** modes are the options for PaneMode. */
export const modes = [
  { value: 'fit' as const, label: 'Fit', icon: <Scaling className="size-3.5" /> },
  { value: 'full' as const, label: '100 %', icon: <Expand className="size-3.5" /> },
  { value: 'reader' as const, label: 'Reader', icon: <BookOpenText className="size-3.5" /> },
];

/** PaneBar is the bar above the watched screen: the mode, the screen's age, and the button to attach. */
export function PaneBar({
  run,
  host,
  state,
  mode,
  onMode,
  onAttach,
}: {
  run: RunDetail;
  host?: Host;
  state: PaneState;
  mode: PaneMode;
  onMode(mode: PaneMode): void;
  onAttach(): void;
}) {
  const running = run.status === 'running';
  return (
    <div className="flex flex-wrap items-center gap-x-3 gap-y-1.5 border-b px-3 py-1.5 sm:px-4">
      <Segmented label="How to show the screen" value={mode} onChange={onMode} options={modes} />
      <Age run={run} host={host} state={state} />
      {running && (
        <div className="ml-auto flex items-center gap-1.5">
          {run.lease && (
            <span
              className="text-xs text-ink-2 max-sm:hidden"
              {...tip(`Since ${exact(run.lease.attached_at)}`)}
            >
              {run.lease.holder || 'Someone'} is typing
            </span>
          )}
          <QuickKeys run={run} />
          <Button
            size="sm"
            data-attach=""
            icon={<Keyboard className="size-3.5" />}
            onClick={onAttach}
            disabled={!canAttach(run, host)}
            {...tip('Type into the agent’s own terminal', 'a')}
          >
            Attach
          </Button>
        </div>
      )}
    </div>
  );
}

function QuickKeys({ run }: { run: RunDetail }) {
  const send = useSendKeys();
  const press = (key: string): void =>
    send.mutate({ id: run.id, keys: [key] }, { onError: (error) => toast.error(messageOf(error)) });
  return (
    <span className="flex items-center gap-1 max-sm:hidden">
      <Button
        size="sm"
        variant="ghost"
        disabled={send.isPending}
        onClick={() => press('Enter')}
        icon={<CornerDownLeft className="size-3.5" />}
        {...tip('Send Enter without attaching')}
      >
        Enter
      </Button>
      <Button
        size="sm"
        variant="ghost"
        disabled={send.isPending}
        onClick={() => press('Ctrl+C')}
        {...tip('Send Ctrl+C without attaching')}
      >
        Ctrl+C
      </Button>
    </span>
  );
}

/** Age shows how old the screen is. */
function Age({ run, host, state }: { run: RunDetail; host?: Host; state: PaneState }) {
  const now = useNow();
  const { pane, live, lostAt } = state;
  if (!pane) return null;
  const at = `Screen of ${exact(pane.timestamp)}`;
  if (lostAt !== null) {
    return (
      <span className="text-xs text-warn" {...tip(at)}>
        Reconnecting for {span(Math.max(0, now - lostAt))}; the screen is{' '}
        {span(Math.max(0, now - Date.parse(pane.timestamp)))} old
      </span>
    );
  }
  if (!live) return <span className="text-xs text-ink-3">Connecting</span>;
  if (!isActive(run))
    return (
      <span className="text-xs text-ink-3" {...tip(at)}>
        Last screen, {ago(pane.timestamp, now)}
      </span>
    );
  if (host?.status === 'offline') {
    return (
      <span className="text-xs text-warn" {...tip(at)}>
        {host.name} is offline; the screen is {span(Math.max(0, now - Date.parse(pane.timestamp)))} old
      </span>
    );
  }
  return (
    <span className="inline-flex items-center gap-1.5 text-xs text-ink-3" {...tip(at)}>
      <span aria-hidden className="size-1.5 rounded-full bg-ok" />
      Live, changed {ago(pane.timestamp, now)}
    </span>
  );
}
