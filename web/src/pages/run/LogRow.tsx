import { memo, type Ref, useMemo, useState } from 'react';
import { count } from '@/lib/count';
import { AnsiText } from '@/terminal/AnsiText';
import { parseLine } from '@/terminal/ansi';
import type { Line } from '@/terminal/lines';
import type { Palette } from '@/terminal/palette';
import { cx } from '@/ui/cx';

/** How much of a long line is shown first, and how much is added by each click, in characters. */
const firstPart = 4000;
const nextPart = 50_000;

/** LogRow shows one line of a log. */
export const LogRow = memo(function LogRow({
  index,
  number,
  line,
  palette,
  wrap,
  find,
  chosen,
  current,
  onChoose,
  ref,
}: {
  index: number;
  /** The line's number in the log; null: not known. */
  number: number | null;
  line: Line;
  palette: Palette;
  wrap: boolean;
  find: string;
  chosen: boolean;
  current: boolean;
  onChoose(number: number): void;
  ref: Ref<HTMLDivElement>;
}) {
  const [shown, setShown] = useState(firstPart);
  const cut = line.text.length - shown;
  const segments = useMemo(
    () => parseLine(cut > 0 ? line.text.slice(0, shown) : line.text, line.style),
    [line, shown, cut],
  );
  return (
    <div
      ref={ref}
      data-index={index}
      className={cx('flex min-h-5', chosen ? 'bg-accent/18' : current ? 'bg-warn/18' : 'hover:bg-ink/5')}
    >
      {number !== null && (
        <a
          href={`#L${number}`}
          onClick={(event) => {
            event.preventDefault();
            onChoose(number);
          }}
          tabIndex={-1}
          style={{ background: palette.background }}
          className={cx(
            'sticky left-0 w-[calc(var(--digits)+1.75rem)] shrink-0 pr-3 pl-3 text-right tabular select-none',
            chosen ? 'text-accent' : 'text-ink-3 hover:text-ink',
          )}
        >
          {number}
        </a>
      )}
      <span className={cx('pr-4', wrap ? 'min-w-0 flex-1 break-all whitespace-pre-wrap' : 'whitespace-pre')}>
        <AnsiText segments={segments} palette={palette} find={find} />
        {cut > 0 && (
          <button
            type="button"
            onClick={() => setShown((now) => now + nextPart)}
            className="ml-1 rounded px-1.5 font-sans text-2xs tone-accent hover:underline"
          >
            … {count(cut)} more characters
          </button>
        )}
      </span>
    </div>
  );
});
