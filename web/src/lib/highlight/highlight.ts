import type { Token } from './tokens';

/** Order is code to highlight, in blocks that are parsed independently. */
export interface Order {
  language: string;
  blocks: string[];
}

/** The time limit for the code of one file, in ms. After it the file stays without highlighting. */
const patience = 3_000;

/** Reader is the part of a Worker that the Highlighter uses. */
type Reader = Pick<Worker, 'postMessage' | 'terminate' | 'onmessage' | 'onerror'>;

/** Highlighter highlights one file after the other in a worker. A worker that exceeds the time limit is terminated. */
export class Highlighter {
  private reader: Reader | null = null;
  private last: Promise<unknown> = Promise.resolve();

  constructor(private readonly open: () => Reader) {}

  /** read returns the tokens of each line of each block. Null: the time limit passed, or highlighting failed. */
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

/** highlighter is the page's highlighter. */
export const highlighter = new Highlighter(
  () => new Worker(new URL('./worker.ts', import.meta.url), { type: 'module', name: 'svc-highlight' }),
);
