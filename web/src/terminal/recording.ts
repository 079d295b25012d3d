// A recording is the terminal of an attempt as asciicast v2: a header, then a line of JSON for each event. The agent wrote
// what is in it, so nothing of it is trusted.

/** Step is output for the terminal, or its new size. */
export type Step = { at: number; data: string } | { at: number; cols: number; rows: number };

/** Mark is an event of the run: its topic, at a moment in ms since the beginning. */
export interface Mark {
  at: number;
  label: string;
}

/** Recording is what was parsed, in the order of its times; times are in ms since its beginning. */
export interface Recording {
  cols: number;
  rows: number;
  steps: Step[];
  marks: Mark[];
  /** Every time at which something happens, rising. */
  times: number[];
  /** The time of its last event. */
  length: number;
  /** Whether it was too large, and its end is missing. */
  cut: boolean;
}

/** How many bytes of a recording are read. */
export const mostBytes = 32 * 1024 * 1024;
/** The longest that nothing happens while idle time is skipped, in ms. */
export const longestIdle = 2000;
/** The largest side of a terminal that is shown, in cells. */
const largestSide = 1000;

/** readRecording parses a stream, and stops reading after most bytes. */
export async function readRecording(
  stream: ReadableStream<Uint8Array>,
  most = mostBytes,
): Promise<Recording> {
  const reader = stream.getReader();
  const decoder = new TextDecoder();
  const parser = new Parser();
  let left = most;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) {
      parser.push(decoder.decode());
      return parser.end(false);
    }
    parser.push(decoder.decode(value.subarray(0, left), { stream: true }));
    left -= value.length;
    if (left < 0) {
      await reader.cancel();
      return parser.end(true);
    }
  }
}

class Parser {
  private rest = '';
  private recording: Recording | null = null;

  push(text: string): void {
    const lines = (this.rest + text).split('\n');
    this.rest = lines.pop() as string;
    for (const line of lines) this.line(line);
  }

  /** end gives what was parsed. A last line without its end is whole unless the recording was cut. */
  end(cut: boolean): Recording {
    if (!cut) this.line(this.rest);
    if (!this.recording) throw new Error('this is no recording: it has no header');
    return { ...this.recording, cut };
  }

  private line(line: string): void {
    if (line.trim() === '') return;
    const value: unknown = parsed(line);
    if (!this.recording) {
      const { version, width, height } = (value ?? {}) as Record<string, unknown>;
      const size = sizeOf(width, height);
      if (version !== 2 || !size) throw new Error('this is no recording in asciicast v2');
      this.recording = { ...size, steps: [], marks: [], times: [], length: 0, cut: false };
      return;
    }
    if (!Array.isArray(value)) throw new Error('a line of the recording is damaged');
    this.event(this.recording, value);
  }

  private event(to: Recording, [seconds, kind, data]: unknown[]): void {
    if (typeof seconds !== 'number' || typeof data !== 'string') return;
    const at = Math.max(to.length, Math.round(seconds * 1000));
    if (kind === 'o') to.steps.push({ at, data });
    else if (kind === 'm') to.marks.push({ at, label: data });
    else if (kind === 'r') {
      const [cols, rows] = data.split('x').map(Number);
      const size = sizeOf(cols, rows);
      if (!size) return;
      to.steps.push({ at, ...size });
    } else return; // a kind that is not shown
    to.length = at;
    if (to.times.at(-1) !== at) to.times.push(at);
  }
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    throw new Error('a line of the recording is damaged');
  }
}

const isSide = (n: unknown): n is number =>
  typeof n === 'number' && Number.isInteger(n) && n > 0 && n <= largestSide;

const sizeOf = (cols: unknown, rows: unknown): { cols: number; rows: number } | null =>
  isSide(cols) && isSide(rows) ? { cols, rows } : null;

/** countUntil is how many of the items are not later than a time. */
export function countUntil<T>(items: readonly T[], time: (item: T) => number, at: number): number {
  let low = 0;
  let high = items.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (time(items[middle] as T) <= at) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * advance is where a recording is after it was played for some ms from a position. When idle time is skipped, a longer
 * pause is passed in longestIdle.
 */
export function advance({ times, length }: Recording, from: number, ms: number, skipIdle: boolean): number {
  let at = from;
  let left = ms;
  for (let i = countUntil(times, (time) => time, at); i < times.length; i++) {
    const next = times[i] as number;
    const pause = next - (times[i - 1] ?? 0);
    const rate = skipIdle ? Math.max(1, pause / longestIdle) : 1;
    const needed = (next - at) / rate;
    if (needed > left) return at + left * rate;
    left -= needed;
    at = next;
  }
  return length;
}
