import { useRef } from 'react';
import { useInSight } from '@/lib/useInSight';
import { Reader } from '@/terminal/Reader';
import { usePalette } from '@/terminal/usePalette';
import { usePane } from '@/terminal/usePane';

/** How many rows of a screen an entry shows. */
const shown = 8;

/**
 * LastLines shows the end of a run's screen: the agent's question or its last output. It reads it only while visible.
 */
export function LastLines({ runId, about }: { runId: string; about: string }) {
  const ref = useRef<HTMLDivElement>(null);
  const inSight = useInSight(ref);
  return (
    <div ref={ref} className="min-h-px">
      {inSight && <Screen runId={runId} about={about} />}
    </div>
  );
}

function Screen({ runId, about }: { runId: string; about: string }) {
  const palette = usePalette();
  const { pane } = usePane(runId);
  if (!pane || pane.capture.trim() === '') return null;
  return (
    <section
      aria-label={`End of the screen of ${about}`}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard must reach it
      tabIndex={0}
      // The reversed direction makes it start scrolled to its end.
      className="flex max-h-44 flex-col-reverse overflow-auto rounded-md text-xs ring-1 ring-line"
    >
      <Reader capture={pane.capture} palette={palette} last={shown} />
    </section>
  );
}
