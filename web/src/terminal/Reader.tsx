import { useMemo } from 'react';
import { AnsiText } from './AnsiText';
import type { Segment } from './ansi';
import { rowsOf } from './frame';
import type { Palette } from './palette';

/** readerRows returns a screen for reading: trailing spaces and rows are removed, and empty rows are merged. */
export function readerRows(capture: string): Segment[][] {
  const rows = rowsOf(capture).map(trimmed);
  return rows.filter(
    (row, i) =>
      row.length > 0 ||
      (i > 0 && (rows[i - 1] as Segment[]).length > 0 && rows.slice(i).some((r) => r.length > 0)),
  );
}

function trimmed(row: Segment[]): Segment[] {
  const out = [...row];
  while (out.length > 0) {
    const last = out[out.length - 1] as Segment;
    const text = last.text.trimEnd();
    if (text !== '') {
      out[out.length - 1] = { ...last, text };
      return out;
    }
    out.pop();
  }
  return out;
}

/**
 * Reader shows a screen as wrapped text, because on a phone 220 columns would be too small to read. last: how many of the
 * final rows are shown; absent: all.
 */
export function Reader({ capture, palette, last }: { capture: string; palette: Palette; last?: number }) {
  const rows = useMemo(() => {
    const all = readerRows(capture);
    return last === undefined ? all : all.slice(-last);
  }, [capture, last]);
  return (
    <div
      style={{ background: palette.background, color: palette.foreground }}
      className="min-h-full p-3 font-mono text-[13px] leading-5 break-words whitespace-pre-wrap [tab-size:8]"
    >
      {rows.map((row, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: rows have no identity but their place
        <div key={i} className="min-h-5">
          <AnsiText segments={row} palette={palette} />
        </div>
      ))}
    </div>
  );
}
