import { expect, screen, test, until } from './support/test.ts';

test('a run is played again: from its start to its end, to any moment and back', async ({ page, lab }) => {
  const task = await lab.add('Seen again');
  const run = await lab.server.api.start(task, 'Paint the shed', {
    provider: 'demo',
    args: ['--delay', '200ms', '--lines', '6'],
  });
  await lab.reaches(run, 'exited');
  await page.goto(lab.server.link(`/runs/${run.id}`));
  await page.getByRole('link', { name: 'Replay' }).click();

  const position = page.getByRole('slider', { name: 'Position' });
  await position.focus();
  await page.keyboard.press('End');
  await expect(screen(page)).toContainText('[100%]');
  const end = await page.locator('[data-time]').textContent();
  await page.keyboard.press('Home');
  await expect(screen(page)).not.toContainText('[100%]');
  await expect(page.locator('[data-time]')).toContainText(/^0:00/);

  // It plays from the start to the end, and then stops.
  await page.getByRole('radio', { name: '8×' }).click();
  await page.getByRole('button', { name: 'Play' }).click();
  await expect(page.locator('[data-time]')).toHaveText(end as string);
  await expect(page.getByRole('button', { name: 'Play' })).toBeVisible();
  await expect(screen(page)).toContainText('[100%]');

  // Each event is a link to its time.
  const events = page.getByRole('list', { name: 'Events of this attempt' });
  await events.getByRole('button').first().click();
  await expect(screen(page)).not.toContainText('[100%]');
  await events.getByRole('button').last().click();
  await expect(screen(page)).toContainText('[100%]');

  await page.setViewportSize({ width: 390, height: 844 });
  await expect
    .poll(() =>
      page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth),
    )
    .toBe(0);
  await expect(page.getByRole('button', { name: 'Play' })).toBeInViewport();
  await expect(page.getByRole('checkbox', { name: 'Skip idle time' })).toBeInViewport();
  // On a phone a screen scaled to fit is too small to read, so it is not the default. It can still be chosen.
  const font = () => screen(page).evaluate((rows) => Number.parseFloat(getComputedStyle(rows).fontSize));
  await expect.poll(font).toBeGreaterThanOrEqual(9);
  await page.getByRole('radio', { name: 'Fit' }).click();
  await expect.poll(font).toBeLessThan(9);
  await position.focus();
  await page.keyboard.press('Home');
  await expect(screen(page)).not.toContainText('[100%]');
});

test('an event of the timeline leads to the screen of its moment', async ({ page, lab }) => {
  const run = await lab.run('echo before; read -r answer; echo after; read -r more', 'Led to a moment');
  // Output that the recorder reads in one piece has one time.
  await until('it asks', async () => (await lab.server.api.log(run.id)).includes('before'));
  await lab.server.api.call('POST', `/runs/${run.id}/keys`, { keys: ['yes', 'Enter'] });
  await until('it goes on', async () => (await lab.server.api.log(run.id)).includes('after'));
  await lab.server.api.call('POST', `/runs/${run.id}/stop`);
  await lab.reaches(run, 'stopped');
  await page.goto(lab.server.link(`/runs/${run.id}?tab=timeline`));
  const events = page.getByRole('list', { name: 'Events of this run, newest first' });
  await events.getByRole('link', { name: /^Replay from here: .*[Ss]topped/ }).click();
  await expect(screen(page)).toContainText('after');
  await expect(page).toHaveURL(/tab=replay&event=\d+/);
  await page.goBack();
  await events.getByRole('link', { name: /^Replay from here: .*[Ss]tarted/ }).click();
  await expect(page.locator('[data-time]')).toContainText(/^0:00/);
  await expect(screen(page)).not.toContainText('after');
});

test('a run without a recording says so in words', async ({ page, lab }) => {
  const later = new Date(Date.now() + 3_600_000).toISOString();
  const run = await lab.server.api.start(await lab.add('Not yet'), 'true', { not_before: later });
  await page.goto(lab.server.link(`/runs/${run.id}?tab=replay`));
  await expect(page.getByRole('heading', { name: 'There is no recording' })).toBeVisible();
});
