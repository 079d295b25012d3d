import type { Host, Run } from '@/api/records';
import { exact } from '@/lib/time';
import { useNow } from '@/lib/useNow';
import { StatusPill } from '@/ui/Badge';
import { cx } from '@/ui/cx';
import { Glyph } from '@/ui/Glyph';
import { Spinner } from '@/ui/Spinner';
import { tip } from '@/ui/Tooltip';
import { type RunState, runState } from './runState';

function StateIcon({ icon, breathes }: { icon: RunState['icon']; breathes: boolean }) {
  switch (icon) {
    case 'spinner':
      return <Spinner className="size-3" />;
    case 'pulse':
      return <span className={cx('size-1.5 rounded-full bg-current', breathes && 'animate-breathe')} />;
    case 'square':
      return <Glyph shape="square" className="size-2.5 fill-current" />;
    default:
      return <Glyph shape={icon} className="size-3" />;
  }
}

/**
 * RunPill shows a run's state as a word. Its tooltip names the signal that caused the state, and the time. The dot of a
 * running run is animated only where one run is shown: without a graphics card, fifty animated dots cost more than the
 * list itself.
 */
export function RunPill({
  run,
  host,
  alone = false,
  className,
}: {
  run: Run;
  host?: Host;
  alone?: boolean;
  className?: string;
}) {
  const state = runState(run, host, useNow());
  const because = `${state.because}${state.at ? ` ${exact(state.at)}` : ''}`;
  return (
    <StatusPill
      {...tip(because)}
      aria-description={because}
      tone={state.tone}
      icon={<StateIcon icon={state.icon} breathes={alone} />}
      stale={state.stale}
      className={className}
    >
      {state.word}
      {state.stale && <span className="sr-only">, not up to date</span>}
    </StatusPill>
  );
}
