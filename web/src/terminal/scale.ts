/** The font's size at 100 %, in px. */
export const plainSize = 13;
const smallest = 4;
const largest = 16;

/** Scale is the size of a cell for each px of font size. */
export interface Scale {
  width: number;
  height: number;
}

/** fontFor is the largest font in which a grid fits into a room, in tenths of a px. */
export function fontFor(
  room: { width: number; height: number },
  grid: { cols: number; rows: number },
  cell: Scale,
): number {
  const fit = Math.min(room.width / (grid.cols * cell.width), room.height / (grid.rows * cell.height));
  return Math.min(largest, Math.max(smallest, Math.floor(fit * 10) / 10));
}

/** The smallest font that is read with ease, in px. */
const readableFont = 9;

/** readableWidth is how wide the room of a whole grid must be for that font; a cell is 0.6 times as wide as its font is high. */
export const readableWidth = (cols: number): number => cols * 0.6 * readableFont + 16;
