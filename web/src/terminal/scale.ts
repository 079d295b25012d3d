/** The font's size at 100 %, in px. */
export const plainSize = 13;
const smallest = 4;
const largest = 16;

/** Scale is the size of a cell per px of font size. */
export interface Scale {
  width: number;
  height: number;
}

/** fontFor returns the largest font size in px, in steps of 0.1, with which a grid fits into a room. */
export function fontFor(
  room: { width: number; height: number },
  grid: { cols: number; rows: number },
  cell: Scale,
): number {
  const fit = Math.min(room.width / (grid.cols * cell.width), room.height / (grid.rows * cell.height));
  return Math.min(largest, Math.max(smallest, Math.floor(fit * 10) / 10));
}

/** The smallest font size that is easy to read, in px. */
const readableFont = 9;

/**
 * readableWidth returns the width in px that a grid needs at that font size. A cell is 0.6 times as wide as the size.
 */
export const readableWidth = (cols: number): number => cols * 0.6 * readableFont + 16;
