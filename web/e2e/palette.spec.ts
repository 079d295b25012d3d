import { expect, Lab, test } from './support/test.ts';

test('Ctrl+K finds items, runs and hosts of all projects, and does things to them', async ({ page, lab }) => {
  const other = await Lab.of(lab.server);
  const far = await other.add('Varnish the boat');
  const run = await other.server.api.start(
    far,
    'echo listening; read -r line; echo "got <$line>"; sleep 600',
  );
  await other.reaches(run, 'running');
  await page.goto(lab.board);
  await expect(page.getByRole('heading', { name: 'An empty board' })).toBeVisible();
  const palette = page.getByRole('dialog', { name: 'Command palette' });
  const find = async (words: string): Promise<void> => {
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox').fill(words);
  };
  const group = (name: string) => palette.getByRole('group', { name });

  // Finds by title, by number and by id, in a project that is not open.
  await find('varnish');
  await expect(group('Work items').getByRole('option')).toContainText('Varnish the boat');
  await expect(group('Runs').getByRole('option')).toContainText('Running');
  await page.getByRole('combobox').fill(`${other.project.slug}-${far.number}`);
  await expect(group('Work items').getByRole('option').first()).toContainText('Varnish the boat');
  await page.getByRole('combobox').fill(run.id.slice(0, 8));
  await expect(group('Runs').getByRole('option')).toContainText('Varnish the boat');
  await page.getByRole('combobox').fill('build-1');
  await expect(group('Hosts').getByRole('option')).toContainText('build-1');
  await page.getByRole('combobox').fill('nothing of the kind');
  await expect(palette.getByText(/Nothing matches “nothing of the kind”/)).toBeVisible();
  await page.keyboard.press('Tab');
  await expect(page.getByRole('combobox')).toBeFocused();
  // While the palette is open, a screen reader finds nothing else. Afterwards the page is there again.
  await expect(page.getByRole('main')).toHaveCount(0);
  await page.keyboard.press('Escape');
  await expect(page.getByRole('main')).toHaveCount(1);
  await find('');

  // Attaches.
  await page.getByRole('combobox').fill('');
  await group('Do').getByRole('option', { name: 'Attach to…' }).click();
  await expect(page.getByRole('combobox')).toHaveValue('attach ');
  await page.keyboard.type('varnish');
  await expect(group('Attach to').getByRole('option')).toHaveCount(1);
  await page.keyboard.press('Enter');
  await expect(page.getByText('You are typing')).toBeVisible();
  await expect(page.getByRole('textbox', { name: 'Terminal, attached' })).toBeFocused();
  await page.keyboard.type('hello');
  await page.keyboard.press('Enter');
  await expect(page.locator('.xterm-rows')).toContainText('got <hello>');
  await page.keyboard.press('Control+Backslash');
  await page.keyboard.press('d');
  await expect(page.getByRole('button', { name: 'Attach' })).toBeVisible();

  // Stops.
  await find('stop varnish');
  await expect(group('Stop').getByRole('option')).toHaveCount(1);
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Stop the run' }).click();
  await expect(page.getByRole('dialog')).toBeHidden();
  await other.reaches(run, 'stopped');

  // Queues: the run waits in the queue without a timeout.
  await find('queue varnish');
  await expect(group('Queue a run of').getByRole('option')).toHaveCount(1);
  await page.keyboard.press('Enter');
  const dialog = page.getByRole('dialog', { name: 'Queue a run' });
  await dialog.getByLabel('Provider').selectOption('Shell');
  await dialog.getByLabel('Prompt').fill('true');
  await dialog.getByRole('button', { name: 'Queue' }).click();
  await expect
    .poll(async () => (await lab.server.api.runs()).some((each) => each.task_id === far.id && each.wait))
    .toBe(true);
});
