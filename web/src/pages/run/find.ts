import { textOf } from '@/terminal/ansi';
import type { Line } from '@/terminal/lines';

/** findLines is the places of the lines that contain a text; the text is in lower case. */
export function findLines(lines: readonly Line[], text: string): number[] {
  if (text === '') return [];
  const found: number[] = [];
  for (let i = 0; i < lines.length; i++) {
    if (
      textOf((lines[i] as Line).text)
        .toLowerCase()
        .includes(text)
    )
      found.push(i);
  }
  return found;
}
