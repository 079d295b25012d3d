import { devices } from '@playwright/test';
import { expect, Lab, test } from './support/test.ts';

const { viewport, deviceScaleFactor, hasTouch, isMobile, userAgent } = devices['Pixel 7'];
test.use({ viewport, deviceScaleFactor, hasTouch, isMobile, userAgent });

/** overflow returns by how many px the page is wider than the phone. It must be 0. */
const overflow = () => document.documentElement.scrollWidth - document.documentElement.clientWidth;

test('a run is read as wrapped text and answered with the key bar', async ({ page, lab }) => {
  const long = 'word '.repeat(60).trim();
  const run = await lab.run(
    `echo "${long}"; read -r line; echo "got <$line>"; read -r more; echo "typed <$more>"; sleep 60`,
  );
  await page.goto(lab.server.link(`/runs/${run.id}`));
  const reader = page.getByRole('region', { name: 'Screen, as text' });
  await expect(reader).toContainText('word word');
  await expect(page.getByRole('radio', { name: 'Reader' })).toBeChecked();
  await expect.poll(() => reader.evaluate((element) => element.scrollWidth - element.clientWidth)).toBe(0);
  expect(
    await reader
      .locator('div')
      .last()
      .evaluate((e) => Number.parseFloat(getComputedStyle(e).fontSize)),
  ).toBeGreaterThanOrEqual(12);

  await page.getByRole('button', { name: 'y', exact: true }).tap();
  await page.getByRole('button', { name: 'Enter', exact: true }).last().tap();
  await expect(reader).toContainText('got <y>');

  await page.getByRole('button', { name: 'Attach' }).tap();
  await page.getByLabel('Text for the agent').fill('from a phone');
  await page.getByRole('button', { name: 'Send' }).tap();
  await expect(reader).toContainText('typed <from a phone>');
  await page.getByRole('button', { name: 'Detach' }).tap();
  await expect(page.getByRole('button', { name: 'Attach' })).toBeVisible();
});

test('cards move by their menu, and every page fits the width', async ({ page, lab }) => {
  await lab.add('Tapped, not dragged');
  await page.goto(lab.board);
  await page.getByRole('button', { name: 'Actions' }).tap();
  await page.getByRole('menuitem', { name: /Doing/ }).tap();
  await expect(page.getByRole('region', { name: /^Doing, 1/ })).toBeAttached();
  await expect.poll(() => page.evaluate(overflow)).toBe(0);
  for (const path of [
    '/runs',
    '/hosts',
    '/activity',
    '/inbox',
    '/providers',
    '/settings',
    `/p/${lab.project.slug}/tree`,
    `/p/${lab.project.slug}/settings`,
  ]) {
    await page.goto(lab.server.link(path));
    await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
    await expect.poll(() => page.evaluate(overflow), path).toBe(0);
  }
  const place = (name: string) => page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name });
  await place('Runs').tap();
  await expect(page).toHaveURL(/\/runs$/);
  // The list starts below the title with the search, and one line of filters.
  const head = page.getByRole('main').locator('header');
  await expect.poll(() => head.evaluate((element) => element.clientHeight)).toBeLessThanOrEqual(104);
  await page.getByRole('combobox', { name: 'Order of active runs' }).selectOption('Oldest first');

  // An item's sheet is as wide as the phone, but does not cover the navigation.
  await place('Board').tap();
  await page.getByRole('button', { name: /Tapped, not dragged/ }).tap();
  const sheet = page.getByRole('dialog', { name: 'Work item' });
  await expect(sheet).toBeVisible();
  await place('Board').tap();
  await expect(sheet).toBeHidden();

  // The pages without room in the bar are in a menu, and so are the other projects.
  const other = await Lab.of(lab.server);
  for (const [name, url] of [
    ['Activity', /\/activity$/],
    ['Providers', /\/providers$/],
    [other.project.name, new RegExp(`/p/${other.project.slug}/board$`)],
  ] as const) {
    await page.getByRole('button', { name: 'More' }).tap();
    await page.getByRole('menuitem', { name }).tap();
    await expect(page).toHaveURL(url);
  }
});
