import { change } from '../support/change.ts';
import { attach, card, column, expect, screen, test } from '../support/test.ts';

// A Firefox that is older than the driver lacks commands of its protocol. That fails only when a page is opened.
test.beforeAll(async ({ playwright }, { project }) => {
  const { channel, launchOptions } = project.use;
  const skip = (why: string): void => {
    process.stderr.write(`Firefox is skipped: ${why}\n`);
    test.skip(true, why);
  };
  if (!launchOptions?.executablePath) skip('none is installed here; FIREFOX names one that is elsewhere');
  try {
    const browser = await playwright.firefox.launch({ channel, ...launchOptions });
    await browser.newContext(project.use).finally(() => browser.close());
  } catch (error) {
    if (!String(error).includes('unknown command')) throw error;
    skip(`it is too old for the driver (${String(error).split('\n')[0]})`);
  }
});

test('someone signs in, and what happens elsewhere is seen on the board', async ({ page, lab, server }) => {
  await page.goto(`${server.url}/p/${lab.project.slug}/board`);
  await page.getByLabel('Access token').fill(server.token);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await expect(page.getByRole('heading', { name: lab.project.name })).toBeVisible();
  const task = await lab.add('Paint the fence');
  await expect(column(page, 'To do').getByText('Paint the fence')).toBeVisible();
  await server.api.start(task, 'sleep 300');
  await expect(card(page, 'Paint the fence').getByText('Running')).toBeVisible();
});

test('a run is watched and typed to', async ({ page, lab, server }) => {
  const run = await lab.run('echo ready; while read -r line; do echo "heard <$line>"; done');
  await page.goto(server.link(`/runs/${run.id}`));
  await expect(screen(page)).toContainText('ready');
  await attach(page);
  await page.keyboard.type('hello');
  await page.keyboard.press('Enter');
  await expect(screen(page)).toContainText('heard <hello>');
});

test('a change is read and commented on', async ({ page, server }) => {
  const { run } = await change(server);
  await page.goto(server.link(`/runs/${run.id}?tab=changes`));
  await expect(page.getByRole('table', { name: 'Changes of shed.txt' })).toContainText('zwei');
  const file = page.getByRole('region', { name: 'shed.txt', exact: true });
  await file.getByRole('button', { name: 'Comment on line 2' }).click();
  await page.getByRole('textbox', { name: 'Comment on line 2' }).fill('In English, please.');
  await page.getByRole('button', { name: 'Add draft' }).click();
  await expect(page.getByRole('button', { name: 'Send 1 comment' })).toBeEnabled();
});
