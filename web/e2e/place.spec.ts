import { attach, card, expect, screen, test } from './support/test.ts';

test('the way back leads to the same place, filter and focus', async ({ page, lab }) => {
  const { api } = lab.server;
  for (let i = 0; i < 30; i++)
    await api.start(await lab.add(`Waits ${i}`), 'true', { wait: true, host_labels: { nowhere: 'yes' } });
  await page.goto(lab.server.link(`/runs?project=${lab.project.slug}&q=waits`));
  // Only the visible rows are rendered.
  const row = page.getByRole('link', { name: /Waits 9 / });
  await expect(page.getByRole('link', { name: /Waits 29 / })).toBeVisible();
  await page.getByRole('main').getByRole('list').hover();
  await page.mouse.wheel(0, 700);
  await expect(row).toBeInViewport();
  const top = () =>
    row.evaluate((element) => {
      let box: Element | null = element;
      while (box && box.scrollTop === 0) box = box.parentElement;
      return box?.scrollTop ?? 0;
    });
  const before = await top();
  expect(before).toBeGreaterThan(0);
  await row.click();
  await expect(page.getByRole('heading', { name: 'Waits 9' })).toBeVisible();
  await page.goBack();
  await expect(row).toBeInViewport();
  // Rows that were never rendered have an estimated height, so the position may differ a little.
  expect(Math.abs((await top()) - before)).toBeLessThan(56);
  await expect(page.getByRole('searchbox', { name: 'Search runs' })).toHaveValue('waits');

  await page.goto(lab.board);
  const button = card(page, 'Waits 0').getByRole('button', { name: /Waits 0/ });
  await button.focus();
  await page.keyboard.press('Enter');
  await expect(page.getByRole('dialog', { name: 'Work item' })).toBeVisible();
  await page.keyboard.press('Escape');
  await expect(button).toBeFocused();
});

test('of many hosts those in sight are drawn, and the way back leads to the same ones', async ({
  page,
  fresh: server,
}) => {
  for (let i = 0; i < 60; i++) await server.api.call('POST', '/hosts', { name: `fleet-${100 + i}` });
  await page.goto(server.link('/hosts?sort=name'));
  const list = page.getByRole('list', { name: 'Hosts' });
  await expect(list.getByRole('link', { name: /fleet-100/ })).toBeVisible();
  await expect.poll(() => list.getByRole('listitem').count()).toBeLessThan(30);
  const last = list.getByRole('link', { name: /fleet-159/ });
  await list.hover();
  await page.mouse.wheel(0, 10_000);
  await expect(last).toBeInViewport();
  await last.click();
  await expect(page.getByRole('heading', { name: 'fleet-159' })).toBeVisible();
  await page.goBack();
  await expect(last).toBeInViewport();
});

test('a log is searched from its beginning, text is read from its end, and what is selected is copied', async ({
  page,
  context,
  lab,
}) => {
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  const run = await lab.run(
    'i=0; while [ $i -lt 300 ]; do i=$((i+1)); [ $i = 20 ] && echo needle; echo "line $i"; done; echo selectable; while read -r line; do echo "heard <$line>"; done',
  );
  await page.goto(lab.server.link(`/runs/${run.id}?tab=log`));
  await expect(page.getByRole('log').getByText('line 300', { exact: true })).toBeInViewport();
  await page.getByLabel('Find in the log').fill('needle');
  await expect(page.getByRole('log').locator('mark')).toBeInViewport();

  await page.goto(lab.server.link(`/runs/${run.id}`));
  await page.setViewportSize({ width: 1280, height: 400 });
  await page.getByRole('radio', { name: 'Reader' }).click();
  const reader = page.getByRole('region', { name: 'Screen, as text' });
  await expect(reader.getByText('selectable')).toBeInViewport();
  await expect.poll(() => reader.evaluate((pane) => pane.scrollTop)).toBeGreaterThan(0);
  await page.getByRole('radio', { name: 'Fit' }).click();
  await page.setViewportSize({ width: 1280, height: 800 });

  await attach(page);
  const word = screen(page).getByText('selectable');
  await expect(page.getByRole('button', { name: /^\d+×\d+$/ })).not.toHaveText('220×50');
  // force: Playwright must not check that the text receives the click, because the terminal's element receives it. The
  // terminal redraws its rows when the agent's screen changes its size, so the double click is repeated.
  await expect(async () => {
    await word.dblclick({ force: true });
    await expect(page.locator('.xterm-selection > div')).not.toHaveCount(0, { timeout: 500 });
  }).toPass();
  await page.keyboard.press('Control+c');
  await expect.poll(() => page.evaluate(() => navigator.clipboard.readText())).toBe('selectable');
  // Ctrl+C was not sent to the agent, which it would have ended.
  await page.keyboard.type('still here');
  await page.keyboard.press('Enter');
  await expect(screen(page)).toContainText('heard <still here>');
});
