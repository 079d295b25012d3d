import { loadavg } from 'node:os';
import { expect as plain, size, test } from './full.ts';
import { grown, type Heap, heapOf } from './heap.ts';
import { median } from './measure.ts';

// Waiting times are not measured here. A busy machine is slow.
const expect = plain.configure({ timeout: 180_000 });

/** How long the tab is used, in minutes. */
const minutes = Number(process.env.MINUTES ?? 30);
/** By which factor the memory of the last third may exceed that of the first third. */
const growth = 1.1;

/**
 * Sample is the tab's memory after a garbage collection, in MB. code is printed but not checked: the engine compiles a
 * function again, and larger, the more often it is called, including the driver's functions. That continues, ever slower,
 * as long as the tab is used. It is limited by the number of functions, and it is not data that the page keeps.
 */
interface Sample {
  minute: number;
  data: number;
  native: number;
  code: number;
  nodes: number;
  listeners: number;
}

const judged = ['data', 'native', 'nodes', 'listeners'] as const;

test(`a tab that is used for ${minutes} minutes holds no more in the end than in the beginning`, async ({
  page,
  full: { lab, changed },
}) => {
  test.setTimeout((minutes + 20) * 60_000);
  await page.goto(lab.board);
  await expect(page.getByRole('article').first()).toBeVisible();
  const devtools = await page.context().newCDPSession(page);
  const nav = page.getByRole('navigation', { name: 'Main' });
  const go = async (name: string): Promise<void> => {
    await nav.getByRole('link', { name }).click();
    await expect(page.getByRole('main').getByRole('heading', { level: 1 })).toBeVisible();
    await expect(page.getByRole('status', { name: /^Loading/ })).toHaveCount(0);
  };
  /** turn visits the pages that are used in a day, without a reload. */
  const turn = async (): Promise<void> => {
    await go('Runs');
    await page.getByRole('main').getByRole('link').first().click();
    await expect(page.locator('.xterm-rows')).toContainText('line of output');
    for (const tab of ['Timeline', 'Log', 'Details']) {
      await page.getByRole('link', { name: tab, exact: true }).click();
      await expect(page.getByRole('status', { name: /^Loading/ })).toHaveCount(0);
    }
    await go('Wall');
    await expect(page.getByRole('article').first()).toContainText('line of output');
    await go('Queue');
    await go('Hosts');
    await go('Inbox');
    await page.getByRole('main').locator(`a[href*="${changed.id}"]`).first().click();
    await expect(page.getByText(`${size.files} files`).first()).toBeVisible();
    await expect(page.getByRole('main').getByRole('table').first()).toBeVisible();
    await go('Tree');
    await go('Board');
    await expect(page.getByRole('article').first()).toBeVisible();
    // Then the tab shows the board for a while, and fifty agents print.
    await page.waitForTimeout(15_000);
  };
  let first: Heap | null = null;
  let last: Heap | null = null;
  const sample = async (began: number): Promise<Sample> => {
    last = await heapOf(devtools);
    first ??= last;
    const { data, native, code } = last;
    const { nodes, jsEventListeners } = await devtools.send('Memory.getDOMCounters');
    return {
      minute: (Date.now() - began) / 60_000,
      data: data / 1e6,
      native: native / 1e6,
      code: code / 1e6,
      nodes,
      listeners: jsEventListeners,
    };
  };
  // One turn first, so that the code and the cached data of every page are loaded.
  await turn();
  const samples: Sample[] = [];
  const began = Date.now();
  while (Date.now() - began < minutes * 60_000) {
    samples.push(await sample(began));
    const { minute, data, native, code, nodes, listeners } = samples.at(-1) as Sample;
    // biome-ignore lint/suspicious/noConsole: the figures are what this is run for
    console.log(
      `minute ${minute.toFixed(1)}: data ${data.toFixed(2)} MB, native ${native.toFixed(2)} MB, code ${code.toFixed(2)} MB, ${nodes} nodes, ${listeners} listeners, load ${loadavg()[0]?.toFixed(1)}`,
    );
    await turn();
  }
  const grew = first && last ? grown(first, last) : '';
  // biome-ignore lint/suspicious/noConsole: the figures are what this is run for
  console.log(`what grew most:\n${grew}`);
  const third = Math.max(1, Math.floor(samples.length / 3));
  for (const of of judged) {
    const begin = median(samples.slice(0, third).map((each) => each[of]));
    const end = median(samples.slice(-third).map((each) => each[of]));
    expect(end, `${of}, in the last third beside the first\n${grew}`).toBeLessThan(begin * growth);
  }
});
