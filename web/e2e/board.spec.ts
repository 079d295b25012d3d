import { card, column, expect, test } from './support/test.ts';

test.describe('moving cards', () => {
  test('a drag moves a card to another column, and Undo brings it back', async ({ page, lab }) => {
    const item = await lab.add('Write the parser');
    await lab.add('Read the grammar', { status: 'doing' });
    await page.goto(lab.board);
    await card(page, 'Write the parser').dragTo(card(page, 'Read the grammar'));
    await expect(column(page, 'Doing').getByText('Write the parser')).toBeVisible();
    await expect.poll(async () => (await lab.server.api.item(item.id)).status).toBe('doing');

    await page.getByRole('button', { name: 'Undo' }).click();
    await expect(column(page, 'To do').getByText('Write the parser')).toBeVisible();
    await expect.poll(async () => (await lab.server.api.item(item.id)).status).toBe('todo');
  });

  test('a drag within a column changes the order, for everyone', async ({ page, lab }) => {
    for (const title of ['First', 'Second', 'Third']) await lab.add(title);
    await page.goto(lab.board);
    const titles = async () =>
      (await column(page, 'To do').getByRole('article').allInnerTexts()).map((text) =>
        text.replace(/^\S+ /, ''),
      );
    await expect.poll(titles).toEqual(['First', 'Second', 'Third']);
    await card(page, 'Third').dragTo(card(page, 'First'), { targetPosition: { x: 60, y: 3 } });
    await expect.poll(titles).toEqual(['Third', 'First', 'Second']);
    await expect
      .poll(async () => (await lab.server.api.items(lab.project.id)).map((item) => item.title))
      .toEqual(['Third', 'First', 'Second']);
  });

  test('the keyboard alone moves a card, keeps the focus on it and undoes', async ({ page, lab }) => {
    const item = await lab.add('Ship it');
    await lab.add('Test it');
    await page.goto(lab.board);
    const button = card(page, 'Ship it').getByRole('button', { name: /Ship it/ });
    await button.focus();
    await page.keyboard.press('Shift+ArrowRight');
    await expect(column(page, 'Doing').getByText('Ship it')).toBeVisible();
    await expect(button).toBeFocused();
    await page.keyboard.press('3');
    await expect(column(page, 'Done').getByText('Ship it')).toBeVisible();
    await expect(button).toBeFocused();
    await expect.poll(async () => (await lab.server.api.item(item.id)).status).toBe('done');
    await page.getByRole('button', { name: 'Undo' }).last().focus();
    await page.keyboard.press('Enter');
    await expect(column(page, 'Doing').getByText('Ship it')).toBeVisible();
  });

  test('the menu is a twin of every drag', async ({ page, lab }) => {
    await lab.add('Call it off');
    await page.goto(lab.board);
    await card(page, 'Call it off').hover();
    await card(page, 'Call it off').getByRole('button', { name: 'Actions' }).click();
    await page.getByRole('menuitem', { name: /Cancelled/ }).click();
    await expect(page.getByRole('button', { name: /1 ?Cancelled/ })).toBeVisible();
    await page.getByRole('button', { name: /1 ?Cancelled/ }).click();
    await expect(column(page, 'Cancelled').getByText('Call it off')).toBeVisible();
  });

  test('a move that the server refuses rolls back and says why', async ({ page, lab }) => {
    const item = await lab.add('Stays where it is');
    await page.goto(lab.board);
    const button = card(page, 'Stays where it is').getByRole('button', { name: /Stays/ });
    await expect(button).toBeVisible();
    await page.route(`**/work-items/${item.id}`, (route) =>
      route.request().method() === 'PATCH'
        ? route.fulfill({
            status: 409,
            json: { error: { code: 'project_archived', message: 'the project is archived' } },
          })
        : route.continue(),
    );
    await button.focus();
    await page.keyboard.press('2');
    await expect(page.getByText('the project is archived')).toBeVisible();
    await expect(column(page, 'To do').getByText('Stays where it is')).toBeVisible();
  });
});

test('what others do appears without a reload', async ({ page, lab }) => {
  const { api } = lab.server;
  await page.goto(lab.board);
  await expect(page.getByRole('heading', { name: 'An empty board' })).toBeVisible();
  const item = await lab.add('From elsewhere');
  await expect(column(page, 'To do').getByText('From elsewhere')).toBeVisible();
  await api.call('PATCH', `/work-items/${item.id}`, { status: 'done', title: 'Renamed elsewhere' });
  await expect(column(page, 'Done').getByText('Renamed elsewhere')).toBeVisible();
  await api.call('DELETE', `/work-items/${item.id}`);
  await expect(page.getByText('Renamed elsewhere')).toHaveCount(0);
});

test('a card opens beside the board, is edited there, and the filter tells itself from emptiness', async ({
  page,
  lab,
}) => {
  const epic = await lab.add('Payments', { kind: 'epic' });
  await lab.add('Refunds', { parent_id: epic.id });
  await page.goto(lab.board);
  // Items that have no runs of their own are shown only in the tree and in lanes, unless all levels are chosen.
  await expect(page.getByRole('article')).toHaveCount(1);
  await card(page, 'Refunds').click();
  const sheet = page.getByRole('dialog', { name: 'Work item' });
  await expect(sheet.getByRole('heading', { name: 'Runs' })).toBeVisible();
  await sheet.getByLabel('Status').selectOption('Doing');
  await expect(column(page, 'Doing').getByText('Refunds')).toBeVisible();
  await page.keyboard.press('Escape');
  await expect(sheet).toBeHidden();

  await page.getByRole('searchbox', { name: 'Filter by title' }).fill('no such thing');
  await expect(page.getByRole('heading', { name: 'The filter hides everything' })).toBeVisible();
  await page.getByRole('button', { name: 'Show all 2 items' }).click();
  await expect(page.getByRole('article')).toHaveCount(2);
  await page.getByRole('button', { name: 'Lanes by parent' }).click();
  await expect(page.getByRole('button', { name: 'Payments', exact: true })).toBeVisible();
  await expect(page.getByText('Without a parent')).toBeVisible();
});
