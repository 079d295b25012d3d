import { AnsiParser, type Segment } from './ansi';
import { plain, sameStyle, sgrOf } from './style';

/** The size of every session at its start. The watched grid is never smaller. */
export const spawnCols = 220;
export const spawnRows = 50;

/** rowsOf splits a capture into its rows. A style continues in the next row, as in a terminal. */
export function rowsOf(capture: string): Segment[][] {
  const parser = new AnsiParser();
  return capture
    .replace(/\n$/, '')
    .split('\n')
    .map((row) => parser.push(row.replaceAll('\r', '')));
}

/**
 * frameOf returns one write that shows a snapshot. Cursor home and one erase per row, inside synchronized output, never
 * leave the screen blank, and the user's selection survives; reset() and clear() do neither. Only the capture's text and
 * SGR are kept, so that a captured screen cannot reconfigure the terminal that shows it.
 */
export function frameOf(capture: string): string {
  const rows = rowsOf(capture).map((row) => {
    let last = plain;
    let line = '';
    for (const { text, style } of row) {
      if (!sameStyle(style, last)) line += sgrOf(style);
      last = style;
      line += text;
    }
    return `${line}\x1b[0m\x1b[K`;
  });
  return `\x1b[?2026h\x1b[?25l\x1b[r\x1b[?6l\x1b[0m\x1b[H${rows.join('\r\n')}\x1b[J\x1b[H\x1b[?2026l`;
}

/** gridOf returns the grid that a capture needs: the initial size, or a larger one if a person enlarged the session. */
export function gridOf(capture: string): { rows: number; cols: number } {
  const rows = rowsOf(capture);
  const widths = rows.map((row) => row.reduce((sum, { text }) => sum + widthOf(text), 0));
  return { rows: Math.max(spawnRows, rows.length), cols: Math.max(spawnCols, ...widths) };
}

const wide =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u;
const none = /[\p{Mn}\p{Me}\p{Cf}]/u;

/** widthOf estimates how many cells a text takes. */
export function widthOf(text: string): number {
  let width = 0;
  for (const char of text) {
    if (char < '\u0300') width += 1;
    else if (!none.test(char)) width += wide.test(char) ? 2 : 1;
  }
  return width;
}
