import { expect, test } from './full.ts';
import { Figures, times } from './measure.ts';

test('a board of 5,000 items answers within 200 ms', async ({ page, full: { lab } }) => {
  test.setTimeout(300_000);
  const figures = new Figures(page);
  // The first visit reads the items from the server. That is a page load, not an interaction.
  await page.goto(lab.board);
  await expect(page.getByRole('article').first()).toBeVisible();
  for (let i = 0; i < times; i++) {
    await page.getByRole('link', { name: 'Hosts' }).click();
    await expect(page.getByRole('heading', { name: 'Hosts' })).toBeVisible();
    await figures.measure(
      'open the board',
      page.getByRole('link', { name: 'Board' }),
      () => document.querySelectorAll('article').length > 5,
    );
  }
  for (let i = 0; i < times; i++) {
    await page.getByRole('region', { name: /^To do/ }).hover();
    await page.evaluate(() => {
      const first = document.querySelector('section [data-card-focus]');
      document.body.dataset.first = first?.textContent ?? '';
    });
    await figures.measure(
      'scroll a column by a page',
      () => page.mouse.wheel(0, 700),
      () => document.querySelector('section [data-card-focus]')?.textContent !== document.body.dataset.first,
    );
  }
  const filter = page.getByRole('searchbox', { name: 'Filter by title' });
  for (let i = 0; i < times; i++) {
    await filter.focus();
    await figures.measure(
      'filter by a letter',
      () => page.keyboard.press('7'),
      () => {
        const titles = [...document.querySelectorAll('section [data-card-focus]')];
        return titles.length > 0 && titles.every((title) => title.textContent?.includes('7'));
      },
    );
    await figures.measure(
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
    await figures.measure('open an item beside the board', card, () =>
      Boolean(document.querySelector('[role="dialog"] h2')),
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
    await figures.measure(
      'move a card by key',
      () => page.keyboard.press('2'),
      () =>
        document.querySelectorAll('section')[1]?.getAttribute('aria-label') !== document.body.dataset.doing,
    );
  }
  for (let i = 0; i < times; i++) {
    // A card that is rendered above the column's visible part cannot be dragged.
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
    await figures.measure(
      'drop a card',
      () => page.mouse.up(),
      () =>
        document.querySelectorAll('section')[1]?.getAttribute('aria-label') !== document.body.dataset.doing,
    );
  }
  for (let i = 0; i < times; i++) {
    await figures.measure(
      'open the tree',
      page.getByRole('link', { name: 'Tree' }),
      () => document.querySelectorAll('[role="treeitem"]').length > 5,
    );
    await page.getByRole('link', { name: 'Board' }).click();
    await expect(page.getByRole('article').first()).toBeVisible();
  }
  figures.judge();
});
