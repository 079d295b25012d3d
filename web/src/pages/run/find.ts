import { textOf } from '@/terminal/ansi';
import type { Line } from '@/terminal/lines';

/** Finder searches a log that grows: each line is looked at once for each text. */
export class Finder {
  private text = '';
  private first: number | null = null;
  private seen = 0;
  private found: number[] = [];

  /** find is the places of the lines that contain a text in lower case; first is the number of the first line. */
  find(lines: readonly Line[], first: number | null, text: string): number[] {
    if (text !== this.text || first !== this.first || lines.length < this.seen) {
      this.text = text;
      this.first = first;
      this.seen = 0;
      this.found = [];
    }
    if (text === '') return this.found;
    const fresh: number[] = [];
    // The last line may still grow, so it is looked at again.
    if (this.found.at(-1) === this.seen) this.found = this.found.slice(0, -1);
    for (let i = this.seen; i < lines.length; i++) {
      if (
        textOf((lines[i] as Line).text)
          .toLowerCase()
          .includes(text)
      )
        fresh.push(i);
    }
    this.seen = Math.max(0, lines.length - 1);
    if (fresh.length > 0) this.found = [...this.found, ...fresh];
    return this.found;
  }
}
