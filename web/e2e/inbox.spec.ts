import { expect, test } from './support/test.ts';

test('a question is answered in the inbox and goes by itself; a failure is put aside by key', async ({
  page,
  lab,
}) => {
  const asks = await lab.run(
    'svc exec signal progress --message "Which colour?" --needs-input; read -r line; printf "chose <%s>\\n" "$line"; sleep 60',
    'Choose the colour',
  );
  const failed = await lab.server.api.start(await lab.add('Break the shed'), 'exit 3');
  await lab.reaches(failed, 'failed');

  await page.goto(lab.board);
  await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: /Inbox/ }).click();
  await expect(page).toHaveURL(/\/inbox$/);
  const entry = (title: string) => page.getByRole('main').getByRole('listitem').filter({ hasText: title });
  await expect(entry('Choose the colour')).toContainText('Which colour?');
  await expect(entry('Break the shed')).toContainText('Failed');

  await entry('Choose the colour').getByLabel('Answer to Choose the colour').fill('green');
  await page.keyboard.press('Enter');
  await expect(entry('Choose the colour')).toHaveCount(0);
  await expect
    .poll(async () => (await lab.server.api.run(asks.id)).needs_input, 'the run no longer asks')
    .toBe(false);

  // Others of this server may be listed too: the keys go to the entry that is chosen.
  await page.getByRole('heading', { name: 'Inbox' }).click();
  await expect(async () => {
    await page.keyboard.press('j');
    await expect(entry('Break the shed')).toHaveAttribute('aria-current', 'true', { timeout: 500 });
  }).toPass();
  await page.keyboard.press('e');
  await expect(entry('Break the shed')).toHaveCount(0);

  await page.reload();
  await expect(page.getByRole('heading', { name: 'Inbox' })).toBeVisible();
  await expect(page.getByRole('status', { name: /^Loading/ })).toHaveCount(0);
  await expect(entry('Break the shed')).toHaveCount(0);
});

test('a snoozed entry is shown when asked for', async ({ page, lab }) => {
  const failed = await lab.server.api.start(await lab.add('Snooze the shed'), 'exit 3');
  await lab.reaches(failed, 'failed');
  await page.goto(lab.server.link('/inbox'));
  const entry = page.getByRole('main').getByRole('listitem').filter({ hasText: 'Snooze the shed' });
  await entry.getByRole('button', { name: 'Snooze Snooze the shed' }).click();
  await page.getByRole('menuitem', { name: 'For an hour' }).click();
  await expect(entry).toHaveCount(0);
  await page.getByRole('button', { name: 'Snoozed too' }).click();
  await expect(entry).toContainText('snoozed');
});
