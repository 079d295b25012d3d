import { Pause, Play } from 'lucide-react';
import { useState } from 'react';
import { count } from '@/lib/count';
import { useRoom } from '@/lib/useRoom';
import Grid from '@/terminal/Grid';
import { countUntil, type Mark, type Recording } from '@/terminal/recording';
import { readableWidth } from '@/terminal/scale';
import { usePalette } from '@/terminal/usePalette';
import { IconButton } from '@/ui/Button';
import { cx } from '@/ui/cx';
import { Segmented } from '@/ui/Segmented';
import { usePlayer } from './usePlayer';

const speeds = ['1', '2', '4', '8'].map((value) => ({ value, label: `${value}×` }));
/** Zoom is how the screen is shown: scaled to fit, or at full size. */
type Zoom = 'fit' | 'full';
const zooms: { value: Zoom; label: string }[] = [
  { value: 'fit', label: 'Fit' },
  { value: 'full', label: '100 %' },
];
/** How many events have a mark on the scrubber. The list has all of them. */
const mostMarks = 500;

/** clock formats a time of a recording: 1:02:03. */
export function clock(ms: number): string {
  const seconds = Math.floor(ms / 1000);
  const [h, m, s] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
  const two = (n: number): string => String(n).padStart(2, '0');
  return h > 0 ? `${h}:${two(m)}:${two(s)}` : `${m}:${two(s)}`;
}

/**
 * Player shows a recording on a terminal, with the controls below. Until it is played it shows the time start, in ms.
 */
export function Player({
  recording,
  titles,
  start = 0,
}: {
  recording: Recording;
  /** The title of each of the recording's marks. */
  titles: readonly string[];
  start?: number;
}) {
  const palette = usePalette();
  const [speed, setSpeed] = useState('1');
  const [skipIdle, setSkipIdle] = useState(true);
  const { grid, at, playing, seek, toggle } = usePlayer(recording, start, Number(speed), skipIdle);
  const [box, roomy] = useRoom(readableWidth(recording.cols));
  // On a phone, a screen scaled to fit would be too small to read.
  const [chosen, setZoom] = useState<Zoom | null>(null);
  const zoom = chosen ?? (roomy ? 'fit' : 'full');
  const { length } = recording;
  const marks = recording.marks.slice(0, mostMarks);
  return (
    <div ref={box} className="flex min-h-0 flex-1 flex-col">
      <div className="min-h-0 flex-1 overflow-hidden">
        <Grid
          ref={grid}
          cols={recording.cols}
          rows={recording.rows}
          scale={zoom}
          palette={palette}
          typing={false}
          label="Terminal, replayed"
        />
      </div>
      <section aria-label="Player" className="flex flex-col gap-1.5 border-t bg-panel px-3 py-2 sm:px-4">
        <div className="flex items-center gap-2">
          <IconButton label={playing ? 'Pause' : 'Play'} onClick={toggle}>
            {playing ? <Pause className="size-4" /> : <Play className="size-4" />}
          </IconButton>
          <div className="relative min-w-0 flex-1">
            <input
              type="range"
              aria-label="Position"
              aria-valuetext={`${clock(at)} of ${clock(length)}`}
              min={0}
              max={Math.max(1, length)}
              step="any" // arrow keys move by a hundredth
              value={at}
              onChange={(event) => seek(Number(event.target.value))}
              className="block h-8 w-full accent-accent"
            />
            <Ticks marks={marks} length={length} />
          </div>
          <span data-time className="shrink-0 font-mono text-xs text-ink-2 tabular">
            {clock(at)} / {clock(length)}
          </span>
        </div>
        <div className="flex flex-wrap items-center gap-x-4 gap-y-1.5">
          <Segmented label="Speed" value={speed} onChange={setSpeed} options={speeds} />
          <label className="flex h-8 items-center gap-2 text-xs text-ink-2">
            <input
              type="checkbox"
              checked={skipIdle}
              onChange={(event) => setSkipIdle(event.target.checked)}
              className="size-4 accent-accent"
            />
            Skip idle time
          </label>
          {!roomy && (
            <Segmented<Zoom> label="How to show the screen" value={zoom} onChange={setZoom} options={zooms} />
          )}
        </div>
        {marks.length > 0 && <Marks marks={marks} titles={titles} at={at} onSeek={seek} />}
        {recording.marks.length > mostMarks && (
          <p className="text-xs text-ink-3">
            The first {mostMarks} of {count(recording.marks.length)} events are listed.
          </p>
        )}
      </section>
    </div>
  );
}

/** Ticks shows the events as marks on the scrubber. */
function Ticks({ marks, length }: { marks: Mark[]; length: number }) {
  return (
    // The middle of the thumb never comes nearer to an end than half the thumb's width.
    <div aria-hidden className="pointer-events-none absolute inset-x-2 top-0 h-1.5">
      {marks.map((mark, i) => (
        <span
          // biome-ignore lint/suspicious/noArrayIndexKey: marks have no identity but their place
          key={i}
          data-mark
          className="absolute h-full w-px bg-ink-3"
          style={{ left: `${length > 0 ? (mark.at / length) * 100 : 0}%` }}
        />
      ))}
    </div>
  );
}

/** Marks lists the events of the attempt. A click on one shows the screen at its time. */
function Marks({
  marks,
  titles,
  at,
  onSeek,
}: {
  marks: Mark[];
  titles: readonly string[];
  at: number;
  onSeek(at: number): void;
}) {
  const latest = countUntil(marks, (mark) => mark.at, at) - 1;
  return (
    <ol
      aria-label="Events of this attempt"
      className="flex max-h-20 flex-wrap gap-1 overflow-y-auto text-xs sm:max-h-24"
    >
      {marks.map((mark, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: as above
        <li key={i}>
          <button
            type="button"
            aria-current={i === latest ? 'step' : undefined}
            onClick={() => onSeek(mark.at)}
            className={cx(
              'flex h-7 items-center gap-1.5 rounded-md px-2 hover:bg-hover',
              i === latest ? 'bg-hover text-ink' : 'text-ink-2',
            )}
          >
            <span className="font-mono tabular">{clock(mark.at)}</span>
            {titles[i] ?? mark.label}
          </button>
        </li>
      ))}
    </ol>
  );
}
