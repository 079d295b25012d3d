import { attach, column, expect, screen, test } from './support/test.ts';

test('everything works on a plain-HTTP address, where browsers withhold half their interfaces', async ({
  page,
  lab,
}) => {
  const at = (path: string) => lab.server.link(path, 'svc.test');
  const run = await lab.run('while read -r line; do printf "heard <%s>\\n" "$line"; done', 'Over plain HTTP');
  await page.goto(at(`/p/${lab.project.slug}/board`));
  expect(
    await page.evaluate(() => [
      window.isSecureContext,
      'clipboard' in navigator,
      'serviceWorker' in navigator,
      'randomUUID' in crypto,
      'subtle' in crypto,
    ]),
  ).toEqual([false, false, false, false, false]);
  await expect(page.getByRole('status', { name: 'Connection: Live' })).toBeVisible();
  expect(await page.evaluate(() => typeof SharedWorker)).toBe('function');

  await lab.add('Live here too', { status: 'doing' });
  await expect(column(page, 'Doing').getByText('Live here too')).toBeVisible();

  // A form that needs an idempotency key.
  await page
    .getByRole('article')
    .getByRole('button', { name: /Live here too/ })
    .focus();
  await page.keyboard.press('r');
  const dialog = page.getByRole('dialog', { name: 'Start a run' });
  await dialog.getByLabel('Provider').selectOption('Shell');
  await dialog.getByLabel('Prompt').fill('echo started');
  await dialog.getByRole('button', { name: 'Start' }).click();
  await expect(page.getByText('The run is queued')).toBeVisible();

  await page.goto(at(`/runs/${run.id}?tab=details`));
  await page.getByRole('button', { name: 'Copy' }).first().click();
  await expect(page.getByRole('button', { name: 'Copied' })).toBeVisible();

  await page.getByRole('link', { name: 'Live', exact: true }).click();
  await attach(page);
  await page.keyboard.type('plain');
  await page.keyboard.press('Enter');
  await expect(screen(page)).toContainText('heard <plain>');
});
