import type { Token } from './tokens';

/** Order is code to read, in blocks that are read each by itself. */
export interface Order {
  language: string;
  blocks: string[];
}

/** How long the code of one file may be read, in ms; past it the file stays plain. */
const patience = 3_000;

/** Reader is the part of a Worker that is used here. */
type Reader = Pick<Worker, 'postMessage' | 'terminate' | 'onmessage' | 'onerror'>;

/** Highlighter reads one file after the other, in a worker that is ended when a file keeps it too long. */
export class Highlighter {
  private reader: Reader | null = null;
  private last: Promise<unknown> = Promise.resolve();

  constructor(private readonly open: () => Reader) {}

  /** read is the tokens of each line of each block; null: they could not be read in time. */
  read(order: Order): Promise<Token[][][] | null> {
    const next = this.last.then(() => this.one(order));
    this.last = next;
    return next;
  }

  private one(order: Order): Promise<Token[][][] | null> {
    return new Promise((resolve) => {
      const finish = (blocks: Token[][][] | null): void => {
        clearTimeout(timer);
        if (blocks === null) {
          this.reader?.terminate();
          this.reader = null;
        }
        resolve(blocks);
      };
      const timer = setTimeout(() => finish(null), patience);
      try {
        this.reader ??= this.open();
        this.reader.onmessage = ({ data }: MessageEvent<Token[][][]>) => finish(data);
        this.reader.onerror = () => finish(null);
        this.reader.postMessage(order);
      } catch {
        finish(null);
      }
    });
  }
}

/** highlighter is the page's own. */
export const highlighter = new Highlighter(
  () => new Worker(new URL('./worker.ts', import.meta.url), { type: 'module', name: 'svc-highlight' }),
);
