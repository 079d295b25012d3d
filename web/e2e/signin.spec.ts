import { clean } from './support/axe.ts';
import { expect, test } from './support/test.ts';

test.describe('signing in', () => {
  test('the printed link signs in, and its token leaves the address bar', async ({ page, lab }) => {
    await page.goto(lab.board);
    await expect(page.getByRole('heading', { name: lab.project.name })).toBeVisible();
    expect(page.url()).not.toContain('#token');
    await page.reload();
    await expect(page.getByRole('heading', { name: lab.project.name })).toBeVisible();
  });

  test('a pasted token signs in and goes where the person wanted to', async ({ page, lab, server }) => {
    await page.goto(`${server.url}/p/${lab.project.slug}/tree`);
    await expect(page.getByRole('heading', { name: 'Sign in to svc' })).toBeVisible();
    await page.getByLabel('Access token').fill('0'.repeat(32));
    await page.getByRole('button', { name: 'Sign in' }).click();
    await expect(page.getByText('The server does not know this token.')).toBeVisible();
    await page.getByLabel('Access token').fill(server.token);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await expect(page).toHaveURL(new RegExp(`/p/${lab.project.slug}/tree$`));
    await expect(page.getByRole('heading', { name: lab.project.name })).toBeVisible();
  });

  test('the page keeps no secret, and a foreign link does not change who someone is', async ({
    page,
    lab,
    server,
  }) => {
    await page.goto(lab.board);
    await expect(page.getByRole('heading', { name: lab.project.name })).toBeVisible();
    const kept = await page.evaluate(() => JSON.stringify({ ...localStorage }) + document.cookie);
    expect(kept).not.toContain(server.token);
    expect(kept).not.toContain('svc_session');
    const { token } = await server.api.call<{ token: string }>('POST', '/tokens', {
      name: 'mallory',
      role: 'viewer',
    });
    await page.goto(`${server.url}/settings#token=${token}`);
    await page.reload();
    await expect(page.getByText('owner, admin')).toBeVisible();
    await expect(page.getByText('mallory, viewer')).toHaveCount(0);
  });

  test('signing out in one tab signs out the other', async ({ context, page, lab, server }) => {
    await page.goto(lab.board);
    await expect(page.getByRole('heading', { name: lab.project.name })).toBeVisible();
    const other = await context.newPage();
    await other.goto(`${server.url}/settings`);
    await other.getByRole('button', { name: 'Sign out' }).click();
    await expect(other.getByRole('heading', { name: 'Sign in to svc' })).toBeVisible();
    await expect(page.getByRole('heading', { name: 'Sign in to svc' })).toBeVisible();
  });
});

test('from the welcome page to the end of a first run', async ({ page, fresh }) => {
  await page.goto(fresh.link());
  await expect(page.getByRole('heading', { name: 'Welcome to svc' })).toBeVisible();
  await expect(page.getByText('build-1 online')).toBeVisible();
  await expect(page.getByText(/Demo agent ready$/)).toBeVisible();
  await clean(page, 'welcome');

  await page.getByRole('button', { name: 'New project' }).click();
  await page.getByRole('dialog').getByLabel('Name').fill('First steps');
  await page.getByRole('button', { name: 'Create project' }).click();
  await expect(page.getByRole('heading', { name: 'An empty board' })).toBeVisible();
  // The pressed button disappeared with its page, so the focus is in the new page.
  await expect(page.getByRole('main')).toBeFocused();

  await page.getByRole('button', { name: 'Add the first work item' }).click();
  await page.getByRole('dialog').getByLabel('Title').fill('Say hello');
  await page.getByRole('button', { name: 'Create', exact: true }).click();
  const card = page.getByRole('article').filter({ hasText: 'Say hello' });
  await expect(card.getByRole('button', { name: /Say hello/ })).toBeFocused();
  await page.keyboard.press('r');

  const dialog = page.getByRole('dialog', { name: 'Start a run' });
  await dialog.getByLabel('Provider').selectOption('Demo agent');
  await dialog.getByText('Model, arguments, directory, restarts').click();
  await dialog.getByLabel('Arguments').fill('--delay 100ms --lines 3');
  await dialog.getByRole('button', { name: 'Start' }).click();
  await page.getByRole('button', { name: 'Watch' }).click();

  await expect(page.getByRole('heading', { name: 'It finished' })).toBeVisible();
  await expect(page.getByText('Last screen')).toBeVisible();
  await expect(page.locator('.xterm-rows')).toContainText('Done.');
  await page.getByRole('link', { name: 'Log' }).first().click();
  await expect(page.getByRole('log')).toContainText('I am the demo agent of svc');
});
