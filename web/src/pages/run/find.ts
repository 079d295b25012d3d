import { textOf } from '@/terminal/ansi';
import type { Line } from '@/terminal/lines';

/** Finder searches a growing log: it converts each line to plain text once, and checks it once for each search. */
export class Finder {
  private text = '';
  private first: number | null = null;
  private seen = 0;
  private found: number[] = [];
  private readonly plain = new WeakMap<Line, string>();

  /** find returns the indexes of the lines that contain a lower-case text. first is the number of the first line. */
  find(lines: readonly Line[], first: number | null, text: string): number[] {
    if (first !== this.first || lines.length < this.seen) this.restart(first);
    if (text !== this.text) {
      // A line that contains the longer text also contains the shorter one, so only earlier matches are checked again.
      const narrower = this.text !== '' && text.includes(this.text);
      if (narrower) this.found = this.found.filter((i) => this.has(lines, i, text));
      else this.restart(first);
      this.text = text;
    }
    if (text === '') return this.found;
    const fresh: number[] = [];
    // The last line may have grown since, so it is checked again.
    if (this.found.at(-1) === this.seen) this.found = this.found.slice(0, -1);
    for (let i = this.seen; i < lines.length; i++) {
      if (this.has(lines, i, text)) fresh.push(i);
    }
    this.seen = Math.max(0, lines.length - 1);
    if (fresh.length > 0) this.found = [...this.found, ...fresh];
    return this.found;
  }

  private restart(first: number | null): void {
    this.first = first;
    this.text = '';
    this.seen = 0;
    this.found = [];
  }

  private has(lines: readonly Line[], index: number, text: string): boolean {
    const line = lines[index] as Line;
    let plain = this.plain.get(line);
    if (plain === undefined) {
      plain = textOf(line.text).toLowerCase();
      this.plain.set(line, plain);
    }
    return plain.includes(text);
  }
}
