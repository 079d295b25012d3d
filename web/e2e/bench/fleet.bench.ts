import { expect, test } from './full.ts';
import { Figures, times } from './measure.ts';

test('2,000 runs, 200 hosts and 50 printing agents leave every list within 200 ms', async ({
  page,
  full: { lab },
}) => {
  test.setTimeout(300_000);
  const figures = new Figures(page);
  await page.goto(lab.board);
  await expect(page.getByRole('article').first()).toBeVisible();
  const nav = page.getByRole('navigation', { name: 'Main' });
  const link = (name: string) => nav.getByRole('link', { name });
  const go = (name: string) => link(name).click();
  /** Each page is loaded once first, so that the navigation is measured, and not the server's first answer. */
  for (const name of ['Runs', 'Queue', 'Hosts', 'Wall']) {
    await go(name);
    await expect(page.getByRole('heading', { level: 1, name })).toBeVisible();
    await expect(page.getByRole('status', { name: /^Loading/ })).toHaveCount(0);
    await expect(page.getByRole('main').getByRole('listitem').nth(5)).toBeVisible();
  }
  for (let i = 0; i < times; i++) {
    const rows = () => document.querySelectorAll('main li').length > 5;
    const opened = (title: string) =>
      new Function(
        `return document.querySelector('h1')?.textContent === '${title}' && (${rows})()`,
      ) as () => boolean;
    for (const name of ['Runs', 'Queue', 'Hosts', 'Wall'])
      await figures.measure(`open ${name}`, link(name), opened(name));
  }
  await go('Runs');
  const find = page.getByRole('searchbox', { name: 'Search runs' });
  // The search starts with the project's slug, because a short number could match the ids of runs, which are searched too.
  const beginning = `${lab.project.slug.toUpperCase()}-1`;
  for (let i = 0; i < times; i++) {
    await find.fill(beginning);
    await figures.measure(
      'search the runs, a letter more',
      () => page.keyboard.press('2'),
      new Function(
        `const rows = [...document.querySelectorAll('main li a')];
        return rows.length > 0 && rows.every((row) => row.textContent.includes('${beginning}2'));`,
      ) as () => boolean,
    );
    await find.fill('');
    // Wait until all runs are listed again: a click on a row that is about to move would miss it.
    const others = page
      .getByRole('main')
      .getByRole('listitem')
      .filter({ hasNotText: `${beginning}2` });
    await expect.poll(() => others.count()).toBeGreaterThan(5);
    const boxes = page.getByRole('main').getByRole('checkbox');
    await figures.measure('select a run', boxes.nth(2), () =>
      Boolean(document.querySelector('[aria-label="Selection"]')),
    );
    await page.keyboard.press('Escape');
    await expect(page.getByRole('region', { name: 'Selection' })).toBeHidden();
  }
  await go('Hosts');
  for (let i = 0; i < times; i++) {
    const hosts = page.getByRole('searchbox', { name: 'Search hosts' });
    await hosts.fill('zone-');
    await figures.measure(
      'search the hosts, a letter more',
      () => page.keyboard.press('3'),
      () => {
        const rows = [...document.querySelectorAll('ul[aria-label="Hosts"] li')];
        return rows.length > 0 && rows.every((row) => row.textContent?.includes('zone-3'));
      },
    );
    await hosts.fill('');
  }
  for (let i = 0; i < times; i++) {
    await figures.measure(
      'open the palette',
      () => page.keyboard.press('Control+k'),
      () => document.activeElement?.getAttribute('role') === 'combobox',
    );
    await page.getByRole('combobox').fill('Task 7-1');
    await expect(page.getByRole('option', { name: /Task 7-1/ }).first()).toBeVisible();
    await figures.measure(
      'search everything, a letter more',
      () => page.keyboard.press('9'),
      () => {
        const titles = [...document.querySelectorAll('[role="option"]')].map((each) => each.textContent);
        return (
          titles.some((title) => title?.includes('Task 7-19')) &&
          !titles.some((title) => title?.includes('Task 7-11'))
        );
      },
    );
    await page.keyboard.press('Escape');
    await expect(page.getByRole('dialog')).toHaveCount(0);
  }
  figures.judge();
});
