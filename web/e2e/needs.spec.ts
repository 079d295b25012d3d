import { card, column, expect, Lab, test } from './support/test.ts';

test('needs are added by search, explained in a circle, and shown on cards and in the tree', async ({
  page,
  lab,
}) => {
  const design = await lab.add('Draw plans');
  const build = await lab.add('Build walls');
  await page.goto(lab.server.link(`/t/${build.id}`));
  const needs = page.getByRole('region', { name: 'Needs' });
  await needs.getByRole('button', { name: 'Add a need' }).click();
  await needs.getByRole('combobox').fill('draw');
  await page.keyboard.press('Enter');
  await expect(needs.getByRole('list', { name: 'It needs' })).toContainText('Draw plans');
  await expect(needs.getByText('blocked')).toBeVisible();

  await page.goto(lab.server.link(`/t/${design.id}`));
  await expect(needs.getByRole('list', { name: 'Needed by' })).toContainText('Build walls');
  await needs.getByRole('button', { name: 'Add a need' }).click();
  await needs.getByRole('option', { name: /Build walls/ }).click();
  await expect(needs.getByRole('alert')).toContainText(/Draw plans.*needs.*Build walls/);

  await page.goto(lab.board);
  await expect(card(page, 'Build walls').getByText('waits for 1')).toBeVisible();
  await page.goto(lab.tree);
  await expect(page.getByRole('treeitem').filter({ hasText: 'Build walls' })).toContainText('waits for 1');
  await lab.server.api.call('PATCH', `/work-items/${design.id}`, { status: 'done' });
  await expect(page.getByText('waits for 1')).toHaveCount(0);
});

test('a drag and the keyboard change the order of the queue, and Undo brings it back', async ({
  page,
  fresh: server,
}) => {
  const lab = await Lab.of(server);
  const [host] = await server.api.hosts();
  await server.api.call('PATCH', `/hosts/${host?.id}`, { max_runs: 1 });
  await lab.run('sleep 600', 'Takes the only place');
  for (const title of ['Waits first', 'Waits second', 'Waits third'])
    await server.api.start(await lab.add(title), 'true', { wait: true });
  await page.goto(server.link('/queue'));
  const rows = page.getByRole('list', { name: 'Runs that wait, next first' }).getByRole('listitem');
  const order = async () =>
    (await rows.getByRole('link').allInnerTexts()).map((text) => text.replace('Waits ', '')).join(' ');
  await expect.poll(order).toBe('first second third');
  await rows.nth(2).dragTo(rows.nth(0), { targetPosition: { x: 200, y: 4 } });
  await expect.poll(order).toBe('third first second');
  await expect(page.getByLabel('Priority of Waits third')).toHaveValue('1');
  await page.getByRole('button', { name: 'Undo' }).click();
  await expect.poll(order).toBe('first second third');

  await page.getByRole('link', { name: 'Waits second' }).focus();
  await page.keyboard.press('Shift+ArrowUp');
  await expect.poll(order).toBe('second first third');

  // A pending run shows what blocks it.
  await page.getByRole('link', { name: 'Waits third' }).click();
  await expect(page.getByRole('list', { name: 'What blocks it' })).toContainText(
    'build-1full: as many runs as it may have',
  );
});

test('a question stays in sight when a newer run starts on its task', async ({ page, lab }) => {
  const { api } = lab.server;
  await lab.add('Sweep the yard');
  const asks = await lab.run(
    'svc exec signal progress --message "Which colour?" --needs-input; read -r line; sleep 60',
    'Paint the gate',
  );
  await expect.poll(async () => (await api.run(asks.id)).needs_input).toBe(true);
  const task = await api.item(asks.task_id as string);
  await lab.reaches(await api.start(task, 'echo at work; sleep 60'), 'running');

  await page.goto(lab.board);
  await expect(card(page, 'Paint the gate')).toContainText('Which colour?');
  await expect(column(page, 'To do').getByRole('article').first()).toContainText('Paint the gate');
  await expect(page).toHaveTitle(/^\([1-9]/);
  await page.goto(lab.tree);
  await expect(page.getByRole('treeitem', { name: /Paint the gate/ })).toContainText('Needs you');
  await page.goto(lab.server.link('/inbox'));
  const entry = page.getByRole('main').getByRole('listitem').filter({ hasText: 'Paint the gate' });
  await entry.getByLabel('Answer to Paint the gate').fill('green');
  await page.keyboard.press('Enter');
  await expect(entry).toHaveCount(0);
  // After the answer, the card shows the newer run.
  await page.goto(lab.board);
  await expect(card(page, 'Paint the gate').getByText('Running')).toBeVisible();
  await expect(card(page, 'Paint the gate')).not.toContainText('Which colour?');
});
