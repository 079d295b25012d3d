import { existsSync } from 'node:fs';
import { attach, column, expect, Lab, Server, screen, test } from './support/test.ts';

test('the server is killed and comes back while the page is open: nothing is lost', async ({
  page,
  fresh: server,
}) => {
  const lab = await Lab.of(server);
  await lab.add('Planned before');
  const script = 'i=0; while [ ! -e enough ]; do i=$((i+1)); echo "line $i"; sleep 0.2; done; echo "the end"';
  const run = await lab.run(script, 'Goes on alone');
  const logPage = await page.context().newPage();
  await logPage.goto(server.link(`/runs/${run.id}?tab=log`));
  await expect(logPage.getByRole('log')).toContainText('line 5');
  await page.goto(lab.board);
  await expect(column(page, 'To do').getByText('Planned before')).toBeVisible();
  // The code that shows errors is loaded after everything else.
  await page.waitForFunction(() =>
    performance.getEntriesByType('resource').some((part) => /\/Toaster[^/]*\.js$/.test(part.name)),
  );

  await server.kill();
  await expect(page.getByRole('status', { name: 'Connection: Connecting' })).toBeVisible();
  await expect(column(page, 'To do').getByText('Planned before')).toBeVisible();
  await expect(page.getByText(/^No connection for/)).toBeVisible();
  await expect(column(page, 'To do').getByText('Planned before')).toBeVisible();
  // A part of the page that was not loaded before waits for the server. The page stays.
  await page.keyboard.press('c');
  await expect(page.getByText('The server cannot be reached')).toBeVisible();
  await expect(column(page, 'To do').getByText('Planned before')).toBeVisible();

  await server.launch();
  await expect(page.getByRole('dialog', { name: 'New work item' })).toBeVisible({ timeout: 60_000 });
  await page.keyboard.press('Escape');
  await lab.add('Planned after');
  await expect(page.getByRole('status', { name: 'Connection: Live' })).toBeVisible({ timeout: 60_000 });
  await expect(column(page, 'To do').getByText('Planned after')).toBeVisible();
  await expect(page.getByText(/^No connection for/)).toBeHidden();

  // The agent continued meanwhile, and its log has every line once.
  server.write('enough', '');
  await expect(logPage.getByText('Complete')).toBeVisible({ timeout: 60_000 });
  await expect(logPage.getByRole('log')).toContainText('the end');
  const lines = (await server.api.log(run.id)).split(/\r?\n/).filter((line) => line.startsWith('line '));
  expect(lines).toEqual(lines.map((_, i) => `line ${i + 1}`));
  await expect(logPage.getByText(new RegExp(`^${lines.length + 1} lines`))).toBeVisible();
});

test('an attached terminal survives the server, and keys reach the agent again', async ({
  page,
  fresh: server,
}) => {
  const lab = await Lab.of(server);
  const run = await lab.run('while read -r line; do printf "heard <%s>\\n" "$line"; done');
  await page.goto(server.link(`/runs/${run.id}`));
  await attach(page);
  // The session gets the window's size and is redrawn. A kill during the redraw would leave half a screen.
  await expect(page.getByRole('button', { name: /^\d+×\d+$/ })).not.toHaveText('220×50');
  await page.keyboard.type('before');
  await page.keyboard.press('Enter');
  await expect(screen(page)).toContainText('heard <before>');
  await server.kill();
  await expect(page.getByText('Connection lost')).toBeVisible();
  await expect(screen(page)).toContainText('heard <before>');
  await server.launch();
  await expect(page.getByText('You are typing')).toBeVisible({ timeout: 60_000 });
  await page.keyboard.type('after');
  await page.keyboard.press('Enter');
  await expect(screen(page)).toContainText('heard <after>');
  await expect(screen(page)).toContainText('heard <before>');
});

test('a server that a test kills leaves no session behind', async () => {
  const server = await Server.start();
  const lab = await Lab.of(server);
  await lab.run('sleep 600', 'Goes on alone');
  await server.kill();
  // close fails when a process is left.
  await server.close();
  expect(existsSync(server.dir)).toBe(false);
});
