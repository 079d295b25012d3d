// A recording is the terminal output of an attempt as asciicast v2: a header, then one line of JSON per event. The agent
// wrote its content, so none of it is trusted.

/** Step is output for the terminal, or its new size. */
export type Step = { at: number; data: string } | { at: number; cols: number; rows: number };

/** Mark is an event of the run: its topic and its time in ms since the recording's start. */
export interface Mark {
  at: number;
  label: string;
}

/** Recording is a parsed recording, in order of time. Times are in ms since its start. */
export interface Recording {
  cols: number;
  rows: number;
  steps: Step[];
  marks: Mark[];
  /** The times of all steps and marks, ascending. */
  times: number[];
  /** The time of its last event. */
  length: number;
  /** Whether the recording was too large, so that its end is missing. */
  cut: boolean;
}

/** The maximal number of bytes that are read of a recording. */
export const mostBytes = 32 * 1024 * 1024;
/** The longest idle time, in ms, while idle time is skipped. */
export const longestIdle = 2000;
/** The maximal width and height of a shown terminal, in cells. */
const largestSide = 1000;

/** readRecording parses a stream. It stops after most bytes. */
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

  /** end returns the recording. A last line without a newline is complete unless the recording was cut. */
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
    } else return; // an event of another kind, which is not shown
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

/** countUntil counts the items whose time is not later than at. items must be sorted by time. */
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
 * advance returns the position after the recording was played for some ms from a position. When idle time is skipped, a
 * longer pause takes longestIdle.
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
