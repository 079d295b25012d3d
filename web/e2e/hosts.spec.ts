import { execFileSync } from 'node:child_process';
import { binary } from './support/server.ts';
import { expect, screen, test } from './support/test.ts';

test('a disabled host finishes what it has and takes nothing new until it is enabled', async ({
  page,
  lab,
}) => {
  const { api } = lab.server;
  const running = await lab.run('sleep 60', 'Already going');
  await page.goto(lab.server.link('/hosts'));
  await page.getByRole('link', { name: /build-1/ }).click();
  await page.getByRole('button', { name: 'Disable' }).click();
  const dialog = page.getByRole('dialog', { name: 'Disable build-1?' });
  await expect(dialog.getByText('1 run keeps going; nothing is stopped.')).toBeVisible();
  await dialog.getByRole('button', { name: 'Disable' }).click();
  await expect(page.getByText('Disabled', { exact: true })).toBeVisible();

  const waiting = await api.start(await lab.add('Has to wait'), 'echo went; sleep 60');
  await page.goto(lab.server.link(`/runs/${waiting.id}`));
  await expect(page.getByRole('heading', { name: 'It waits for a host' })).toBeVisible();
  expect((await api.run(running.id)).status).toBe('running');

  await page.getByRole('link', { name: 'Hosts' }).click();
  await page.getByRole('link', { name: /build-1/ }).click();
  await page.getByRole('button', { name: 'Enable' }).click();
  await expect(page.getByText('build-1 gets new runs again')).toBeVisible();
  await expect(page.getByText('Online', { exact: true })).toBeVisible();
  await page.getByRole('link', { name: /Has to wait/ }).click();
  await expect(screen(page)).toContainText('went');
});

test('adding a host shows the one command that joins it', async ({ page, server }) => {
  await page.goto(server.link('/hosts'));
  await page.getByRole('button', { name: 'Add a host' }).first().click();
  await page.getByRole('dialog').getByLabel('Name').fill('build-9');
  await page.getByRole('button', { name: 'Continue' }).click();
  await expect(
    page
      .getByRole('dialog', { name: 'Join build-9' })
      .getByText(/svc worker/)
      .first(),
  ).toBeVisible();
  await page.getByRole('button', { name: 'Done' }).click();
  await page.getByRole('link', { name: /build-9/ }).click();
  await page.getByRole('button', { name: 'More' }).click();
  await page.getByRole('menuitem', { name: 'Delete…' }).click();
  await page.getByRole('button', { name: 'Delete', exact: true }).click();
  await expect(page.getByRole('link', { name: /build-9/ })).toHaveCount(0);
});

test('a tool that a host has is offered with the command that adds it, until its catalog has it', async ({
  page,
  fresh: server,
}) => {
  const dir = await server.join('build-2', {}, ['qwen']);
  await page.goto(server.link('/providers'));
  const offers = page.getByRole('region', { name: 'Found, and not used yet' });
  await expect(offers.getByRole('listitem')).toHaveCount(1);
  await expect(offers).toContainText('qwen is on build-2');
  await expect(offers.getByText('svc provider add qwen')).toBeVisible();
  execFileSync(binary, ['provider', 'add', 'qwen'], { env: { ...process.env, SVC_DATA_DIR: dir } });
  await expect(offers).toBeHidden();
  await expect(page.getByRole('row', { name: /qwen/i }).first()).toBeVisible();
});
