import { expect, test, until } from './support/test.ts';

test('a question is answered in the inbox and goes by itself; a failure is put aside by key', async ({
  page,
  lab,
}) => {
  const asks = await lab.run(
    'echo "blue or green?"; svc exec signal progress --message "Which colour?" --needs-input; read -r line; printf "chose <%s>\\n" "$line"; sleep 60',
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
  // The count is also on the tab's icon, and the inbox is the first entry of the navigation.
  await expect(page.locator('link[rel="icon"]')).toHaveAttribute('href', /^data:image\/svg\+xml,.*%3E\d/);
  const places = page.getByRole('navigation', { name: 'Main' }).getByRole('link');
  await expect(places.first()).toHaveAccessibleName(/^Inbox/);
  // The agent's screen is shown, because it helps to answer.
  await expect(
    entry('Choose the colour').getByRole('region', { name: 'End of the screen of Choose the colour' }),
  ).toContainText('blue or green?');

  await entry('Choose the colour').getByLabel('Answer to Choose the colour').fill('green');
  await page.keyboard.press('Enter');
  await expect(entry('Choose the colour')).toHaveCount(0);
  await expect
    .poll(async () => (await lab.server.api.run(asks.id)).needs_input, 'the run no longer asks')
    .toBe(false);

  // The inbox may also list entries of other tests on this server: the keys apply to the chosen entry.
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

test('an agent is answered with one of the usual keys, and what failed runs again from its entry', async ({
  page,
  lab,
}) => {
  const asks = await lab.run(
    'stty -icanon -echo; svc exec signal progress --message "Paint it?" --needs-input; key=$(dd bs=1 count=1 2>/dev/null); echo "pressed <$key>"; sleep 60',
    'Paint the fence',
  );
  const failed = await lab.server.api.start(await lab.add('Fails at first'), 'echo "no paint left"; exit 3');
  await lab.reaches(failed, 'failed');
  await page.goto(lab.server.link('/inbox'));
  const entry = (title: string) => page.getByRole('main').getByRole('listitem').filter({ hasText: title });
  await expect(entry('Paint the fence')).toContainText('Paint it?');
  await entry('Paint the fence').getByRole('button', { name: 'y', exact: true }).click();
  await expect(entry('Paint the fence')).toHaveCount(0);
  await until('the key arrived', async () => (await lab.server.api.log(asks.id)).includes('pressed <y>'));

  await expect(entry('Fails at first')).toContainText('no paint left');
  await expect(entry('Fails at first').getByRole('link', { name: 'Log' })).toHaveAttribute(
    'href',
    `/runs/${failed.id}?tab=log`,
  );
  await entry('Fails at first').getByRole('button', { name: 'Run again: Fails at first' }).click();
  await expect(page.getByText('“Fails at first” is queued again')).toBeVisible();
  await until('it ran again', async () => {
    const runs = (await lab.server.api.runs()).filter((run) => run.task_id === failed.task_id);
    return runs.length === 2 && runs.every((run) => run.status === 'failed');
  });
});
