import type { WorkItem } from '../src/api/records.ts';
import { card, column, expect, test } from './support/test.ts';

test('several runs are selected, stopped together, and a view is kept in the address', async ({
  page,
  lab,
}) => {
  for (const title of ['Bulk one', 'Bulk two', 'Bulk three']) await lab.run('sleep 600', title);
  await page.goto(lab.server.link(`/runs?project=${lab.project.slug}`));
  const box = (title: string) => page.getByRole('checkbox', { name: new RegExp(`^Select ${title},`) });
  await box('Bulk three').check();
  await box('Bulk two').click({ modifiers: ['Shift'] });
  const bar = page.getByRole('region', { name: 'Selection' });
  await expect(bar.getByRole('status')).toHaveText('2 selected');
  await bar.getByRole('button', { name: 'Stop 2' }).click();
  const dialog = page.getByRole('dialog', { name: 'Stop 2 runs?' });
  await expect(dialog).toContainText('Bulk two');
  await dialog.getByRole('button', { name: 'Stop 2 runs' }).click();
  await expect(page.getByText('2 runs stopped')).toBeVisible();
  await expect(bar).toBeHidden();
  const runs = async () =>
    (await lab.server.api.runs())
      .filter((run) => run.project_id === lab.project.id)
      .map((run) => `${run.task_title} ${run.status}`)
      .sort();
  await expect.poll(runs).toEqual(['Bulk one running', 'Bulk three stopped', 'Bulk two stopped']);

  // The search and the order are in the address, so that a link shows the same list.
  await page.getByRole('searchbox', { name: 'Search runs' }).fill('bulk t');
  await page.getByRole('combobox', { name: 'Order of active runs' }).selectOption('Oldest first');
  await expect(page).toHaveURL(/q=bulk\+t.*sort=oldest|sort=oldest.*q=bulk\+t/);
  await expect(page.getByText('Bulk one')).toHaveCount(0);
  await page.reload();
  await expect(page.getByRole('searchbox', { name: 'Search runs' })).toHaveValue('bulk t');
  await expect(page.getByText('Bulk two')).toBeVisible();
  await expect(page.getByText('Bulk one')).toHaveCount(0);
});

test('cards are selected with mouse and keyboard, moved together and brought back', async ({ page, lab }) => {
  const items: WorkItem[] = [];
  for (const title of ['Card one', 'Card two', 'Card three']) items.push(await lab.add(title));
  await page.goto(lab.board);
  await card(page, 'Card one').hover();
  await card(page, 'Card one').getByRole('checkbox').check();
  await card(page, 'Card three')
    .getByRole('button', { name: /Card three/ })
    .focus();
  await page.keyboard.press('x');
  const bar = page.getByRole('region', { name: 'Selection' });
  await expect(bar.getByRole('status')).toHaveText('2 selected');
  await bar.getByRole('button', { name: 'Move 2' }).click();
  await page.getByRole('menuitem', { name: 'Doing' }).click();
  await expect(page.getByText('2 items are in Doing')).toBeVisible();
  await expect(column(page, 'Doing').getByRole('article')).toHaveCount(2);
  const statuses = async () =>
    Promise.all(items.map(async ({ id }) => (await lab.server.api.item(id)).status));
  await expect.poll(statuses).toEqual(['doing', 'todo', 'doing']);
  await page.getByRole('button', { name: 'Undo' }).click();
  await expect.poll(statuses).toEqual(['todo', 'todo', 'todo']);

  // Actions also apply to the runs of the selected cards.
  const run = await lab.server.api.start(items[0] as WorkItem, 'sleep 600');
  await lab.reaches(run, 'running');
  await bar.getByRole('button', { name: 'Stop 1' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Stop 1 run' }).click();
  await lab.reaches(run, 'stopped');
  await expect(bar).toBeHidden();

  // The filter is in the address.
  await page.getByRole('searchbox', { name: 'Filter by title' }).fill('two');
  await expect(page).toHaveURL(/q=two/);
  await page.reload();
  await expect(page.getByRole('article')).toHaveCount(1);
});

test('tasks are started together, on the board and in the tree', async ({ page, lab }) => {
  // The prompt contains the title, so the shell executes it.
  for (const title of ['sleep 601', 'sleep 602', 'sleep 603', 'sleep 604']) await lab.add(title);
  await lab.add('An epic', { kind: 'epic' });
  const bar = page.getByRole('region', { name: 'Selection' });
  const startTwo = async () => {
    await bar.getByRole('button', { name: 'Start 2' }).click();
    await page.getByRole('menuitem', { name: 'Shell', exact: true }).click();
    const dialog = page.getByRole('dialog', { name: 'Start 2 runs with Shell?' });
    await dialog.getByRole('button', { name: 'Start 2 runs' }).click();
    await expect(page.getByText('2 runs queued').first()).toBeVisible();
    await expect(bar).toBeHidden();
  };
  const running = async () =>
    (await lab.server.api.runs())
      .filter((run) => run.project_id === lab.project.id && run.status === 'running')
      .map((run) => run.task_title)
      .sort();
  await page.goto(lab.board);
  for (const title of ['sleep 601', 'sleep 602']) {
    await card(page, title).hover();
    await card(page, title).getByRole('checkbox').check();
  }
  await startTwo();
  // The bar and the dialog are gone, so the focus returns to the first selected card.
  await expect(card(page, 'sleep 601').getByRole('button', { name: /sleep 601/ })).toBeFocused();
  await expect.poll(running).toEqual(['sleep 601', 'sleep 602']);

  // In the tree, an item with an active run and an item that is no task are left out.
  await page.goto(lab.tree);
  const row = (title: string) => page.getByRole('treeitem').filter({ hasText: title });
  await row('sleep 603').hover();
  await row('sleep 603').getByRole('checkbox').check();
  for (const title of ['sleep 604', 'sleep 601', 'An epic']) {
    await row(title).focus();
    await page.keyboard.press('x');
  }
  await expect(bar.getByRole('status')).toHaveText('4 selected');
  await startTwo();
  await expect(row('sleep 601')).toBeFocused();
  await expect.poll(running).toEqual(['sleep 601', 'sleep 602', 'sleep 603', 'sleep 604']);
});

test('hosts are selected, disabled together and enabled again', async ({ page, fresh: server }) => {
  for (const name of ['spare-1', 'spare-2', 'spare-3']) await server.api.call('POST', '/hosts', { name });
  await page.goto(server.link('/hosts?sort=name'));
  const statuses = async () =>
    (await server.api.hosts())
      .filter(({ name }) => name.startsWith('spare'))
      .map(({ name, status }) => `${name} ${status}`)
      .sort();
  await page.getByRole('checkbox', { name: 'Select spare-1' }).check();
  await page.getByRole('checkbox', { name: 'Select spare-2' }).click({ modifiers: ['Shift'] });
  const bar = page.getByRole('region', { name: 'Selection' });
  await expect(bar.getByRole('status')).toHaveText('2 selected');
  await bar.getByRole('button', { name: 'Disable 2' }).click();
  const dialog = page.getByRole('dialog', { name: 'Disable 2 hosts?' });
  await expect(dialog).toContainText('They get no new runs.');
  await expect(dialog).toContainText('spare-2');
  await dialog.getByRole('button', { name: 'Disable 2 hosts' }).click();
  await expect(page.getByText('2 hosts get no new runs')).toBeVisible();
  await expect(bar).toBeHidden();
  await expect.poll(statuses).toEqual(['spare-1 disabled', 'spare-2 disabled', 'spare-3 registered']);

  // With the keyboard. If the selected hosts differ, each action applies to those for which it is possible.
  for (const name of ['spare-2', 'spare-3']) {
    await page.getByRole('link', { name: new RegExp(name) }).focus();
    await page.keyboard.press('x');
  }
  await expect(bar.getByRole('button', { name: 'Disable 1' })).toBeVisible();
  await bar.getByRole('button', { name: 'Enable 1' }).click();
  await expect(page.getByText('1 host gets new runs again')).toBeVisible();
  await expect.poll(statuses).toEqual(['spare-1 disabled', 'spare-2 offline', 'spare-3 registered']);
});
