import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { change, git } from './support/change.ts';
import { card, expect, test, until, watch } from './support/test.ts';

test('a change is read, commented on with the keyboard alone, previewed and landed', async ({
  browser,
  page,
  server,
}) => {
  const { lab, run, repo } = await change(server);
  await page.goto(server.link(`/runs/${run.id}`));
  await page.getByRole('link', { name: /^Changes/ }).click();
  const shed = page.getByRole('region', { name: 'shed.txt' });
  await expect(shed.getByRole('table')).toContainText('zwei');
  await expect(shed).toContainText('+1 −1');
  await expect(page.getByRole('region', { name: 'paint.txt' })).toContainText('new');

  // Another browser has the same change open.
  const context = await browser.newContext();
  const check = watch(context);
  try {
    const other = await context.newPage();
    await other.goto(server.link(`/runs/${run.id}?tab=changes`));
    await expect(other.getByRole('region', { name: 'shed.txt' }).getByRole('table')).toContainText('zwei');

    await shed.getByRole('button', { name: 'Comment on line 1', exact: true }).focus();
    await page.keyboard.press('ArrowDown');
    await expect(shed.getByRole('button', { name: 'Comment on removed line 2' })).toBeFocused();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.keyboard.type('Say it in English');
    await page.keyboard.press('Escape');
    await expect(shed.getByRole('button', { name: 'Comment on line 2', exact: true })).toBeFocused();
    await page.keyboard.press('Enter');
    await expect(shed.getByRole('textbox')).toHaveValue('Say it in English');
    await page.keyboard.press('Control+Enter');
    await expect(shed.getByText('Draft, not sent')).toBeVisible();
    const theirs = other.getByRole('region', { name: 'shed.txt' });
    await expect(theirs.getByText('Say it in English')).toBeVisible();
    // Everyone can edit all drafts: the other browser edits this one.
    await theirs.getByRole('button', { name: 'Edit' }).click();
    await theirs.getByRole('textbox').fill('Say it in plain English');
    await other.keyboard.press('Control+Enter');
    await expect(shed.getByText('Say it in plain English')).toBeVisible();
    await expect(shed.getByText('Say it in English')).toHaveCount(0);

    await other.getByRole('button', { name: 'Send 1 comment' }).click();
    const preview = other.getByRole('region', { name: 'What the agent gets' });
    await expect(preview).toContainText('Say it in plain English');
    await expect(preview).toContainText('shed.txt');
    // A shell has no conversation to continue: the page shows the refusal and keeps the drafts.
    await other.getByRole('button', { name: 'Send', exact: true }).click();
    await expect(other.getByRole('alert')).toContainText('Nothing was sent; the drafts stay.');
    await other.keyboard.press('Escape');
    await theirs.getByRole('button', { name: 'Delete' }).click();
    await expect(shed.getByText('Say it in plain English')).toBeHidden();
    check();
  } finally {
    await context.close();
  }

  await shed.getByLabel('Reviewed').check();
  await expect(shed.getByRole('table')).toBeHidden();
  await page.reload();
  await expect(shed.getByLabel('Reviewed')).toBeChecked();

  await page.getByRole('button', { name: 'Land' }).click();
  const dialog = page.getByRole('dialog', { name: 'Land this change' });
  await expect(dialog).toContainText('main gets one commit on top, by you');
  await expect(dialog).toContainText('2 files, 2 lines added and 1 removed');
  await dialog.getByRole('button', { name: 'Land it' }).click();
  await expect(page.getByText(/landed checkpoint \d+ into main/)).toBeVisible();
  expect(git(repo, 'show', 'main:shed.txt')).toBe('one\nzwei\nthree\n');
  expect(git(repo, 'log', '-1', '--format=%s', 'main').trim()).toBe('Paint the shed');
  expect((await lab.server.api.run(run.id)).status).toBe('exited');

  // The only step left is to mark the task as done, which no run does.
  await expect(page.getByRole('button', { name: 'Land again' })).toBeVisible();
  const status = async () => (await lab.server.api.item(run.task_id)).status;
  expect(await status()).toBe('todo');
  await page.getByRole('button', { name: 'Mark the task done' }).click();
  await expect(page.getByRole('button', { name: 'Mark the task done' })).toBeHidden();
  await expect.poll(status).toBe('done');
  await page.getByRole('button', { name: 'Undo' }).click();
  await expect.poll(status).toBe('todo');
});

test('a conflict is shown with its files, and an agent is asked to bring the copy up to date', async ({
  page,
  server,
}) => {
  const { run, repo } = await change(server);
  // Another person changes the same line first.
  const clone = `${repo}-theirs`;
  git(server.dir, 'clone', '-q', repo, clone);
  writeFileSync(join(clone, 'shed.txt'), 'one\ndeux\nthree\n');
  git(clone, 'commit', '-q', '-a', '-m', 'French');
  git(clone, 'push', '-q', 'origin', 'main');

  await page.goto(server.link(`/runs/${run.id}?tab=changes`));
  await page.getByRole('button', { name: 'Land' }).click();
  await page.getByRole('button', { name: 'Land it' }).click();
  await expect(page.getByRole('list', { name: 'Files in conflict' })).toContainText('shed.txt');
  expect(git(repo, 'show', 'main:shed.txt')).toBe('one\ndeux\nthree\n');
  await page.getByRole('button', { name: 'Ask an agent to bring it up to date' }).click();
  await expect(page).not.toHaveURL(new RegExp(run.id));
  const id = new URL(page.url()).pathname.split('/').at(-1) as string;
  const asked = await server.api.call<{ prompt: string; workspace_id: string }>('GET', `/runs/${id}`);
  expect(asked.prompt).toContain('shed.txt');
  expect(asked.workspace_id).toBe((await server.api.run(run.id)).workspace_id);
  await until('that run has ended', async () => (await server.api.run(id)).session_ended_at !== null);
});

test('a change is readable on a phone', async ({ browser, server }) => {
  const { run } = await change(server);
  const context = await browser.newContext({ viewport: { width: 390, height: 780 }, hasTouch: true });
  const check = watch(context);
  try {
    const page = await context.newPage();
    await page.goto(server.link(`/runs/${run.id}?tab=changes`));
    const shed = page.getByRole('region', { name: 'shed.txt' });
    await expect(shed.getByRole('table')).toContainText('zwei');
    await shed.getByRole('button', { name: 'Comment on line 2', exact: true }).tap();
    await shed.getByRole('textbox').fill('From a phone');
    await shed.getByRole('button', { name: 'Add draft' }).tap();
    await expect(page.getByRole('button', { name: 'Send 1 comment' })).toBeVisible();
    await expect
      .poll(() => page.evaluate(() => document.documentElement.scrollWidth))
      .toBeLessThanOrEqual(390);
    check();
  } finally {
    await context.close();
  }
});

test('a card tells how large a change is, its item shows it, and the versions stand beside each other', async ({
  page,
  server,
}) => {
  const { lab } = await change(server, "sed -i s/two/zwei/ shed.txt; echo 'package shed' > shed.go");
  await page.goto(lab.board);
  await expect(card(page, 'Paint the shed')).toContainText('+2 −1');
  await card(page, 'Paint the shed').getByRole('button', { name: 'Paint the shed' }).click();
  const sheet = page.getByRole('dialog', { name: 'Work item' });
  await sheet.getByRole('button', { name: /^Changes/ }).click();
  await expect(sheet.getByRole('region', { name: 'shed.txt' }).getByRole('table')).toContainText('zwei');
  await expect(sheet.getByRole('radiogroup', { name: 'Versions' })).toBeHidden();

  await sheet.getByRole('link', { name: 'Open as a page' }).click();
  await expect(page).toHaveURL(/\/t\/[^?]+\?tab=changes/);
  await page.getByRole('radio', { name: 'Split' }).click();
  const line = page.getByRole('region', { name: 'shed.txt' }).getByRole('row').nth(2);
  await expect(line.getByRole('cell')).toHaveText(['2', 'removed: −two', '2', 'added: +zwei']);
  await page.reload();
  await expect(line.getByRole('cell')).toHaveText(['2', 'removed: −two', '2', 'added: +zwei']);
  // The code is highlighted by a worker, which the page's policy allows.
  const code = page.getByRole('region', { name: 'shed.go' });
  await expect(code.getByText('package', { exact: true })).toBeVisible();
  await page.getByRole('button', { name: 'Item', exact: true }).click();
  await expect(page.getByRole('heading', { name: 'Runs' })).toBeVisible();
});

test('of a change of many files those in sight exist, and what is written in another one stays', async ({
  page,
  server,
}) => {
  const { run } = await change(
    server,
    'i=100; while [ $i -lt 220 ]; do i=$((i+1)); seq 9 > part-$i.txt; done',
  );
  await page.goto(server.link(`/runs/${run.id}?tab=changes`));
  const file = (i: number) => page.getByRole('region', { name: `part-${i}.txt` });
  await expect(file(101).getByRole('table')).toContainText('9');
  await expect(file(220)).toHaveCount(0);
  await file(101).getByRole('button', { name: 'Comment on line 2', exact: true }).click();
  await page.keyboard.type('Why nine?');
  const files = page.getByRole('navigation', { name: 'Changed files' });

  // The list's link to the last file opens it and gives it the focus.
  await files.getByRole('button', { name: /^part-220/ }).click();
  const title = (i: number) => file(i).getByRole('button', { name: new RegExp(`^part-${i}`) });
  await expect(title(220)).toBeFocused();
  await expect(title(220)).toBeInViewport();
  await expect(file(220).getByRole('table')).toBeInViewport();
  await expect(file(150)).toHaveCount(0);
  // Tab continues within the file, and Shift+Tab moves to the file above it.
  await page.keyboard.press('Shift+Tab');
  await expect(file(219).getByRole('button', { name: 'Comment on part-219.txt' })).toBeFocused();

  await files.getByRole('button', { name: /^part-101/ }).click();
  await expect(title(101)).toBeInViewport();
  await expect(file(101).getByRole('textbox')).toHaveValue('Why nine?');
  await expect(file(101).getByRole('textbox')).toBeInViewport();
  await expect(file(220)).toHaveCount(0);
});
