import { cpus } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import type { Page } from '@playwright/test';
import { expect, Lab, test } from '../support/test.ts';

// How long a person waits: from the input event to the first frame that shows its effect, measured inside
// the page, so that the driver's own way to the browser does not count.
const limit = 200;
const times = 5;

interface Figure {
  what: string;
  ms: number[];
}
const figures: Figure[] = [];

/**
 * measure does something and notes the time from its first input event until the condition holds and is
 * painted. The condition is looked at once a frame, by a function of the page.
 */
async function measure(
  page: Page,
  what: string,
  act: () => Promise<unknown>,
  shown: () => boolean,
): Promise<void> {
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
  const figure = figures.find((each) => each.what === what);
  if (figure) figure.ms.push(ms);
  else figures.push({ what, ms: [ms] });
}

const median = (values: number[]): number => [...values].sort((a, b) => a - b)[values.length >> 1] as number;

test('a board of 5,000 items and a log of 200,000 lines answer within 200 ms', async ({
  page,
  fresh: server,
}) => {
  test.setTimeout(240_000);
  const lab = await Lab.of(server);
  await fill(lab);
  await board(page, lab);
  await log(page, lab);
  // biome-ignore lint/suspicious/noConsole: the table is what this is run for
  console.log(table());
  expect(figures.filter(({ ms }) => median(ms) > limit)).toEqual([]);
});

function table(): string {
  const row = ({ what, ms }: Figure): string =>
    `| ${what} | ${median(ms).toFixed(0)} | ${Math.max(...ms).toFixed(0)} |`;
  const machine = cpus()[0]?.model.trim();
  return [
    `${machine}, ${cpus().length} cores`,
    '| what | median ms | worst ms |',
    '|---|---|---|',
    ...figures.map(row),
  ].join('\n');
}

/** fill makes 5,000 items: 20 epics with tasks in every column. */
async function fill(lab: Lab): Promise<void> {
  const statuses = ['todo', 'todo', 'doing', 'done', 'cancelled'];
  for (let e = 0; e < 20; e++) {
    const epic = await lab.add(`Epic ${e}`, { kind: 'epic' });
    await Promise.all(
      Array.from({ length: 249 }, (_, i) =>
        lab.add(`Task ${e}-${i} with a title of ordinary length`, {
          parent_id: epic.id,
          status: statuses[i % statuses.length],
        }),
      ),
    );
  }
}

async function board(page: Page, lab: Lab): Promise<void> {
  const { slug } = lab.project;
  await page.goto(lab.server.link('/hosts'));
  await page.getByRole('link', { name: 'Board' }).hover();
  for (let i = 0; i < times; i++) {
    await page.getByRole('link', { name: 'Hosts' }).click();
    await expect(page.getByRole('heading', { name: 'Hosts' })).toBeVisible();
    const go = () => page.getByRole('link', { name: 'Board' }).click();
    // The first time the items are read from the server; that is a page load, not an interaction.
    if (i === 0) {
      await go();
      await expect(page.getByRole('article').first()).toBeVisible();
    } else await measure(page, 'open the board', go, () => document.querySelectorAll('article').length > 5);
  }
  for (let i = 0; i < times; i++) {
    await measure(
      page,
      'scroll a column by a page',
      async () => {
        await page.getByRole('region', { name: /^To do/ }).hover();
        await page.evaluate(() => {
          const first = document.querySelector('section [data-card-focus]');
          document.body.dataset.first = first?.textContent ?? '';
        });
        await page.mouse.wheel(0, 700);
      },
      () => document.querySelector('section [data-card-focus]')?.textContent !== document.body.dataset.first,
    );
  }
  const filter = page.getByRole('searchbox', { name: 'Filter by title' });
  for (let i = 0; i < times; i++) {
    await filter.focus();
    await measure(
      page,
      'filter by a letter',
      () => page.keyboard.press('7'),
      () => {
        const titles = [...document.querySelectorAll('section [data-card-focus]')];
        return titles.length > 0 && titles.every((title) => title.textContent?.includes('7'));
      },
    );
    await measure(
      page,
      'clear the filter',
      () => page.keyboard.press('Escape'),
      () =>
        [...document.querySelectorAll('section [data-card-focus]')].some(
          (title) => !title.textContent?.includes('7'),
        ),
    );
  }
  for (let i = 0; i < times; i++) {
    const card = page
      .getByRole('region', { name: /^To do/ })
      .getByRole('article')
      .nth(2);
    await measure(
      page,
      'open an item beside the board',
      () => card.click(),
      () => Boolean(document.querySelector('[role="dialog"] h2')),
    );
    await page.keyboard.press('Escape');
    await expect(page.getByRole('dialog')).toHaveCount(0);
  }
  for (let i = 0; i < times; i++) {
    const card = page
      .getByRole('region', { name: /^To do/ })
      .getByRole('article')
      .nth(2);
    await card.getByRole('button').first().focus();
    await page.evaluate(() => {
      document.body.dataset.doing = document.querySelectorAll('section')[1]?.getAttribute('aria-label') ?? '';
    });
    await measure(
      page,
      'move a card by key',
      () => page.keyboard.press('2'),
      () =>
        document.querySelectorAll('section')[1]?.getAttribute('aria-label') !== document.body.dataset.doing,
    );
  }
  for (let i = 0; i < times; i++) {
    // Cards that exist above the column's upper edge cannot be taken.
    await page.evaluate(() => {
      for (const column of document.querySelectorAll('section > div')) column.scrollTop = 0;
    });
    await page.evaluate(() => new Promise(requestAnimationFrame));
    const from = await page
      .getByRole('region', { name: /^To do/ })
      .getByRole('article')
      .nth(3)
      .boundingBox();
    const to = await page
      .getByRole('region', { name: /^Doing/ })
      .getByRole('article')
      .nth(2)
      .boundingBox();
    if (!from || !to) throw new Error('no cards to drag');
    await page.mouse.move(from.x + 60, from.y + 20);
    await page.mouse.down();
    await page.mouse.move(from.x + 90, from.y + 40, { steps: 3 });
    await page.mouse.move(to.x + 60, to.y + 10, { steps: 3 });
    await expect(page.locator('article ~ .bg-accent')).toBeVisible();
    await page.evaluate(() => {
      document.body.dataset.doing = document.querySelectorAll('section')[1]?.getAttribute('aria-label') ?? '';
    });
    await measure(
      page,
      'drop a card',
      () => page.mouse.up(),
      () =>
        document.querySelectorAll('section')[1]?.getAttribute('aria-label') !== document.body.dataset.doing,
    );
  }
  for (let i = 0; i < times; i++) {
    await measure(
      page,
      'open the tree',
      () => page.getByRole('link', { name: 'Tree' }).click(),
      () => document.querySelectorAll('[role="treeitem"]').length > 5,
    );
    await page.getByRole('link', { name: 'Board' }).click();
    await expect(page.getByRole('article').first()).toBeVisible();
  }
  expect(page.url()).toContain(slug);
}

async function log(page: Page, lab: Lab): Promise<void> {
  const lines = 200_000;
  const script = `awk 'BEGIN { for (i = 1; i <= ${lines}; i++) printf "line %d of the log \\033[32mgreen\\033[0m and plain\\n", i }'; sleep 600`;
  const run = await lab.run(script, 'Talks a lot');
  const log = page.getByRole('link', { name: 'Log' });
  const whole = () => expect(page.getByRole('log')).toContainText(`line ${lines} of`, { timeout: 60_000 });
  const rows = () => document.querySelectorAll('[role="log"] [data-index]').length > 5;
  for (let i = 0; i < times; i++) {
    await page.goto(lab.server.link(`/runs/${run.id}?tab=details`));
    await expect(page.getByRole('heading', { name: 'Evidence' })).toBeVisible();
    await measure(page, 'open the log tab, first lines', () => log.click(), rows);
    await whole();
    await page.getByRole('link', { name: 'Details' }).click();
    await measure(page, 'open the log tab again', () => log.click(), rows);
    await whole();
  }
  for (let i = 0; i < times; i++) {
    await page.getByRole('log').hover();
    await page.evaluate(() => {
      document.body.dataset.first = document.querySelector('[role="log"] [data-index]')?.textContent ?? '';
    });
    await measure(
      page,
      'scroll the log by a page',
      () => page.mouse.wheel(0, -600),
      () => document.querySelector('[role="log"] [data-index]')?.textContent !== document.body.dataset.first,
    );
  }
  for (let i = 0; i < times; i++) {
    await page.getByLabel('Find in the log').fill('');
    await measure(
      page,
      'find in 200,000 lines, a first letter',
      () => page.keyboard.press('g'),
      () => document.body.innerText.includes('1 of 200,000 lines'),
    );
    await page.getByLabel('Find in the log').fill('line 19999');
    await expect(page.getByText(/of 11 lines/)).toBeVisible();
    await measure(
      page,
      'find in 200,000 lines, a letter more',
      () => page.keyboard.press('9'),
      () =>
        document.body.innerText.includes('1 of 2 lines') || document.body.innerText.includes('1 of 1 lines'),
    );
    await measure(
      page,
      'go to what was found',
      () => page.keyboard.press('Enter'),
      () => Boolean(document.querySelector('[role="log"] mark')),
    );
  }
}
