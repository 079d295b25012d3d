import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Project } from '../src/api/records.ts';
import { expect, Lab, Server, test } from './support/test.ts';

test('a project gets its repository, learns what is wrong at the field, and is never saved over', async ({
  page,
  lab,
}) => {
  const { api } = lab.server;
  const path = `/projects/${lab.project.id}`;
  await page.goto(lab.server.link(`/p/${lab.project.slug}/settings`));
  const repository = page.getByLabel('Repository');
  await repository.fill('no address');
  await page.getByLabel('Runs at once').fill('3');
  await expect(page.getByLabel('Isolation')).toHaveValue('clone');
  await page.getByRole('button', { name: 'Save' }).click();
  await expect(page.getByText('Must be a URL, host:path or an absolute path.')).toBeVisible();
  await expect(repository).toBeFocused();
  expect((await api.call<Project>('GET', path)).max_runs).toBeNull();

  await repository.fill('https://example.com/team/project.git');
  await page.getByRole('button', { name: 'Save' }).click();
  await expect(page.getByText('Saved', { exact: true })).toBeVisible();
  await expect(page.getByRole('button', { name: 'Save' })).toHaveCount(0);
  expect(await api.call<Project>('GET', path)).toMatchObject({
    repo: 'https://example.com/team/project.git',
    isolation: 'clone',
    max_runs: 3,
  });

  // Another client changes a field that is being edited, and one that is not.
  await page.getByLabel('Base').fill('mine');
  await api.call('PATCH', path, { base: 'theirs', keep_days: 30 });
  await expect(page.getByRole('alert').filter({ hasText: 'theirs' })).toBeVisible();
  await expect(page.getByLabel('Keep for days')).toHaveValue('30');
  await expect(page.getByRole('button', { name: 'Save' })).toBeDisabled();
  await page.getByRole('button', { name: 'Replace theirs with mine' }).click();
  const slug = `${lab.project.slug}-renamed`;
  await page.getByLabel('Slug').fill(slug);
  await page.getByRole('button', { name: 'Save' }).click();
  await expect(page).toHaveURL(new RegExp(`/p/${slug}/settings`));
  await expect(page.getByLabel('Base')).toHaveValue('mine');
  expect(await api.call<Project>('GET', path)).toMatchObject({ base: 'mine', slug, keep_days: 30 });
});

test('an admin tests where notifications go, lets someone in, and shows them out', async ({
  page,
  browser,
}) => {
  const taken: string[] = [];
  const listener = createServer((request, response) => {
    taken.push(request.url ?? '');
    response.writeHead(request.url === '/phone' ? 200 : 500).end();
  });
  await once(listener.listen(0, '127.0.0.1'), 'listening');
  const sink = (name: string) =>
    `[[notify]]\nname = "${name}"\nkind = "webhook"\nurl = "http://127.0.0.1:${(listener.address() as AddressInfo).port}/${name}"\n`;
  const server = await Server.start({ config: sink('phone') + sink('broken') });
  try {
    const lab = await Lab.of(server);
    await page.goto(server.link('/settings'));
    await page.getByRole('button', { name: 'Test phone' }).click();
    const sinks = page.getByRole('list', { name: 'Notification sinks' });
    await expect(sinks.getByText('The sink accepted the test message.')).toBeVisible();
    await page.getByRole('button', { name: 'Test broken' }).click();
    await expect(sinks.getByText(/500/).first()).toBeVisible();
    expect(taken).toContain('/phone');
    expect(taken).toContain('/broken');

    // The only orchestrator can be drained, and the question explains the consequence.
    const orchestrators = page.getByRole('list', { name: 'Orchestrators' });
    await expect(orchestrators.getByRole('listitem')).toHaveCount(1);
    await expect(orchestrators).toContainText(/ready.*leader.*1 worker/);
    await orchestrators.getByRole('button', { name: /^Drain / }).click();
    await expect(page.getByRole('dialog')).toContainText('No other orchestrator is ready');
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();

    await page.getByRole('button', { name: 'New token' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name').fill('owner');
    await dialog.getByLabel('Role').selectOption('viewer');
    await dialog.getByRole('button', { name: 'Make it' }).click();
    await expect(dialog.getByText(/is the name of the token in the data dir/)).toBeVisible();
    await dialog.getByLabel('Name').fill('ann');
    await dialog.getByRole('button', { name: 'Make it' }).click();
    const link = await page
      .getByRole('dialog', { name: 'The token of ann' })
      .getByText(/#token=/)
      .innerText();
    await page.getByRole('button', { name: 'Done' }).click();
    await expect(page.getByRole('list', { name: 'Access tokens' }).getByText('ann')).toBeVisible();

    const context = await browser.newContext();
    const ann = await context.newPage();
    await ann.goto(link.replace('/#', '/settings#'));
    await expect(ann.getByText('ann, viewer')).toBeVisible();
    for (const list of ['Access tokens', 'Orchestrators']) await expect(ann.getByText(list)).toHaveCount(0);
    await ann.goto(`${server.url}/p/${lab.project.slug}/settings`);
    await expect(ann.getByText(/needs the role operator/)).toBeVisible();
    await expect(ann.getByLabel('Name')).toBeDisabled();

    await page.getByRole('button', { name: 'Revoke ann' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
    await expect(page.getByText('Only the owner’s so far.')).toBeVisible();
    await expect(ann.getByRole('heading', { name: 'Sign in to svc' })).toBeVisible();
    await context.close();
  } finally {
    await server.close();
    listener.close();
  }
});
