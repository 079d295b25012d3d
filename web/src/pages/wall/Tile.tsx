import { Maximize2 } from 'lucide-react';
import { memo, useRef } from 'react';
import { type Host, type Run, taskRef } from '@/api/records';
import { RunPill } from '@/components/RunPill';
import { useInSight } from '@/lib/useInSight';
import type { Palette } from '@/terminal/palette';
import { Reader } from '@/terminal/Reader';
import { usePane } from '@/terminal/usePane';
import { cx } from '@/ui/cx';

/**
 * Tile shows one run on the wall: its task and the end of its screen. It follows the screen only while it is visible.
 */
export const Tile = memo(function Tile({
  run,
  host,
  palette,
  onOpen,
}: {
  run: Run;
  host?: Host;
  palette: Palette;
  onOpen(id: string): void;
}) {
  const ref = useRef<HTMLElement>(null);
  const inSight = useInSight(ref);
  return (
    <article
      ref={ref}
      aria-label={run.task_title}
      className={cx(
        'flex h-72 flex-col overflow-hidden rounded-lg bg-panel shadow-1 ring-1',
        run.needs_input ? 'ring-2 ring-warn' : 'ring-line',
      )}
    >
      <button
        type="button"
        onClick={() => onOpen(run.id)}
        aria-description="Shows its terminal large, to watch and to type"
        className="flex items-center gap-2 border-b px-3 py-2 text-left -outline-offset-2 hover:bg-hover"
      >
        <span className="min-w-0 flex-1 truncate text-sm font-medium">
          <span className="text-2xs text-ink-3">{taskRef(run)}</span> {run.task_title}
        </span>
        {host && <span className="truncate text-2xs text-ink-3">{host.name}</span>}
        <RunPill run={run} host={host} />
        <Maximize2 aria-hidden className="size-3.5 shrink-0 text-ink-3" />
      </button>
      {run.needs_input && run.progress_message && (
        <p className="line-clamp-2 border-b px-3 py-1.5 text-xs text-warn">{run.progress_message}</p>
      )}
      <div
        style={{ background: palette.background }}
        className="flex min-h-0 flex-1 flex-col justify-end overflow-hidden"
      >
        {inSight && <Screen runId={run.id} palette={palette} />}
      </div>
    </article>
  );
});

function Screen({ runId, palette }: { runId: string; palette: Palette }) {
  const { pane, lostAt } = usePane(runId);
  if (!pane) return null;
  return (
    <div className={cx('transition-opacity', lostAt !== null && 'opacity-60')}>
      <Reader capture={pane.capture} palette={palette} />
    </div>
  );
}
