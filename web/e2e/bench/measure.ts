import { cpus, loadavg } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import type { CDPSession, Locator, Page } from '@playwright/test';
import { expect } from '../support/test.ts';

// How long a person waits: from the input event to the first frame that shows its effect. It is measured inside the
// page, so that the driver's communication with the browser does not count.
const limit = 200;
/** How often each action is measured. */
export const times = 5;

interface Figure {
  what: string;
  ms: number[];
  /** The CPU time of all threads of the tab's process, in ms. Other load on the machine changes it little. */
  cpu: number[];
}

/** Act is a person's action: a click on an element, or a function. */
type Act = Locator | (() => Promise<unknown>);

/** Figures has the results of one part of the benchmark. */
export class Figures {
  private readonly figures: Figure[] = [];
  private devtools: Promise<CDPSession> | null = null;

  constructor(private readonly page: Page) {}

  /**
   * measure executes an action and records the time from its first input event until the condition, a function that runs in
   * the page, holds and has been painted. The driver finds the clicked element before: in a large page its search takes
   * longer than the page's own work.
   */
  async measure(what: string, act: Act, shown: () => boolean): Promise<void> {
    const { page } = this;
    const go = typeof act === 'function' ? act : await this.pointedAt(act);
    const result = page.evaluate(watch, shown.toString());
    await page.evaluate(() => new Promise(requestAnimationFrame));
    const before = await this.used();
    await go();
    const ms = await Promise.race([result, pause(10_000, -1)]);
    const cpu = (await this.used()) - before;
    expect(ms, `${what}: its effect is never seen`).toBeGreaterThan(0);
    const figure = this.figures.find((each) => each.what === what);
    if (figure) {
      figure.ms.push(ms);
      figure.cpu.push(cpu);
    } else this.figures.push({ what, ms: [ms], cpu: [cpu] });
  }

  /**
   * pointedAt moves the pointer onto an element, as a person does before a click, and returns a function that clicks.
   */
  private async pointedAt(target: Locator): Promise<() => Promise<void>> {
    await target.hover();
    return async () => {
      await this.page.mouse.down();
      await this.page.mouse.up();
    };
  }

  private async used(): Promise<number> {
    this.devtools ??= this.page
      .context()
      .newCDPSession(this.page)
      .then(async (session) => {
        await session.send('Performance.enable');
        return session;
      });
    const { metrics } = await (await this.devtools).send('Performance.getMetrics');
    return 1000 * (metrics.find(({ name }) => name === 'ProcessTime')?.value ?? Number.NaN);
  }

  /** judge prints the table and fails when a median is above the limit. */
  judge(): void {
    const row = ({ what, ms, cpu }: Figure): string =>
      `| ${what} | ${median(ms).toFixed(0)} | ${Math.max(...ms).toFixed(0)} | ${median(cpu).toFixed(0)} |`;
    // biome-ignore lint/suspicious/noConsole: the table is what this is run for
    console.log(
      [
        `${cpus()[0]?.model.trim()}, ${cpus().length} cores, load ${loadavg()[0]?.toFixed(1)}`,
        '| what | median ms | worst ms | median CPU ms |',
        '|---|---|---|---|',
        ...this.figures.map(row),
      ].join('\n'),
    );
    expect(this.figures.filter(({ ms }) => median(ms) > limit)).toEqual([]);
  }
}

/**
 * watch runs in the page. It checks the condition in the first frame after each event that may have made it true. The
 * measurement causes only one extra frame: the one which shows that the frame with the effect has been painted.
 */
function watch(source: string): Promise<number> {
  const holds = new Function(`return (${source})()`) as () => boolean;
  return new Promise<number>((resolve) => {
    let began = 0;
    let due = false;
    const look = (): void => {
      due = false;
      if (!began || !holds()) return;
      ending.abort();
      observer.disconnect();
      // When the next frame starts, this one has been painted.
      requestAnimationFrame(() => resolve(performance.now() - began));
    };
    const soon = (): void => {
      if (!due) requestAnimationFrame(look);
      due = true;
    };
    const begin = (event: Event): void => {
      // The drag events of the driver carry no time.
      began ||= event.timeStamp || performance.now();
      soon();
    };
    const ending = new AbortController();
    const listenerOptions = { capture: true, passive: true, signal: ending.signal };
    for (const kind of ['pointerdown', 'keydown', 'wheel', 'dragover', 'drop'])
      window.addEventListener(kind, begin, listenerOptions);
    for (const kind of ['scroll', 'focusin']) window.addEventListener(kind, soon, listenerOptions);
    const observer = new MutationObserver(soon);
    observer.observe(document, { subtree: true, childList: true, characterData: true, attributes: true });
  });
}

/** median returns the median of a list that is not empty. */
export const median = (values: number[]): number =>
  [...values].sort((a, b) => a - b)[values.length >> 1] as number;
