import type { Page } from '@playwright/test';
import { expect, test } from './support/test.ts';

const row = (page: Page, title: string) => page.getByRole('treeitem').filter({ hasText: title });

test.describe('reparenting', () => {
  test('a drop on a row puts the item under it, and Undo takes it out again', async ({ page, lab }) => {
    const epic = await lab.add('Checkout', { kind: 'epic' });
    const task = await lab.add('Pay by card');
    await page.goto(lab.tree);
    await expect(row(page, 'Pay by card')).toContainText(`-${task.number} Pay by card`);
    await row(page, 'Pay by card').dragTo(row(page, 'Checkout'));
    await expect(row(page, 'Pay by card')).toHaveAttribute('aria-level', '2');
    await expect.poll(async () => (await lab.server.api.item(task.id)).parent_id).toBe(epic.id);
    await page.getByRole('button', { name: 'Undo' }).click();
    await expect(row(page, 'Pay by card')).toHaveAttribute('aria-level', '1');
    await expect.poll(async () => (await lab.server.api.item(task.id)).parent_id).toBeNull();
  });

  test('] and [ move an item in and out, and the arrows open and close', async ({ page, lab }) => {
    const epic = await lab.add('Search', { kind: 'epic' });
    const task = await lab.add('Index the titles');
    await page.goto(lab.tree);
    await row(page, 'Index the titles').focus();
    await page.keyboard.press(']');
    await expect(row(page, 'Index the titles')).toHaveAttribute('aria-level', '2');
    await expect(row(page, 'Index the titles')).toBeFocused();
    await expect.poll(async () => (await lab.server.api.item(task.id)).path).toBe(`${epic.id}/${task.id}`);

    await page.keyboard.press('ArrowLeft');
    await expect(row(page, 'Search')).toBeFocused();
    await page.keyboard.press('ArrowLeft');
    await expect(row(page, 'Index the titles')).toHaveCount(0);
    await page.keyboard.press('ArrowRight');
    await expect(row(page, 'Index the titles')).toBeVisible();
    await page.keyboard.press('ArrowRight');
    await expect(row(page, 'Index the titles')).toBeFocused();
    await page.keyboard.press('[');
    await expect(row(page, 'Index the titles')).toHaveAttribute('aria-level', '1');
    await expect.poll(async () => (await lab.server.api.item(task.id)).parent_id).toBeNull();
  });

  test('an item cannot be dropped into its own subtree', async ({ page, lab }) => {
    const epic = await lab.add('Outer', { kind: 'epic' });
    await lab.add('Inner', { parent_id: epic.id });
    await page.goto(lab.tree);
    await row(page, 'Outer').dragTo(row(page, 'Inner'));
    await expect(row(page, 'Inner')).toHaveAttribute('aria-level', '2');
    expect((await lab.server.api.item(epic.id)).parent_id).toBeNull();
  });
});
