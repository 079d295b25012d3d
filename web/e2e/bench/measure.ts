import { cpus, loadavg } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import type { Page } from '@playwright/test';
import { expect } from '../support/test.ts';

// How long a person waits: from the input event to the first frame that shows its effect, measured inside
// the page, so that the driver's own way to the browser does not count.
const limit = 200;
/** How often each is measured. */
export const times = 5;

interface Figure {
  what: string;
  ms: number[];
}

/** Figures is what one part of the benchmark measured. */
export class Figures {
  private readonly figures: Figure[] = [];

  constructor(private readonly page: Page) {}

  /**
   * measure does something and notes the time from its first input event until the condition holds and is
   * painted. The condition is looked at once a frame, by a function of the page.
   */
  async measure(what: string, act: () => Promise<unknown>, shown: () => boolean): Promise<void> {
    const { page } = this;
    const result = page.evaluate((source) => {
      const holds = new Function(`return (${source})()`) as () => boolean;
      return new Promise<number>((resolve) => {
        let began = 0;
        const begin = (event: Event): void => {
          // What the driver drags carries no time.
          began ||= event.timeStamp || performance.now();
        };
        const kinds = ['pointerdown', 'keydown', 'wheel', 'dragover', 'drop'];
        for (const kind of kinds) window.addEventListener(kind, begin, { capture: true });
        const look = (): void => {
          if (!began || !holds()) {
            requestAnimationFrame(look);
            return;
          }
          for (const kind of kinds) window.removeEventListener(kind, begin, { capture: true });
          // The frame after this one has been painted when its turn comes.
          requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - began)));
        };
        requestAnimationFrame(look);
      });
    }, shown.toString());
    await page.evaluate(() => new Promise(requestAnimationFrame));
    await act();
    const ms = await Promise.race([result, pause(10_000, -1)]);
    expect(ms, `${what}: its effect is never seen`).toBeGreaterThan(0);
    const figure = this.figures.find((each) => each.what === what);
    if (figure) figure.ms.push(ms);
    else this.figures.push({ what, ms: [ms] });
  }

  /** judge prints the table and fails when a median is above the limit. */
  judge(): void {
    const row = ({ what, ms }: Figure): string =>
      `| ${what} | ${median(ms).toFixed(0)} | ${Math.max(...ms).toFixed(0)} |`;
    // biome-ignore lint/suspicious/noConsole: the table is what this is run for
    console.log(
      [
        `${cpus()[0]?.model.trim()}, ${cpus().length} cores, load ${loadavg()[0]?.toFixed(1)}`,
        '| what | median ms | worst ms |',
        '|---|---|---|',
        ...this.figures.map(row),
      ].join('\n'),
    );
    expect(this.figures.filter(({ ms }) => median(ms) > limit)).toEqual([]);
  }
}

/** median is the middle one of a list that is not empty. */
export const median = (values: number[]): number =>
  [...values].sort((a, b) => a - b)[values.length >> 1] as number;
