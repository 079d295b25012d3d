import { expect, Lab, test } from './support/test.ts';

test('the queue shows the order and why each waits, and a priority changes it', async ({
  page,
  fresh: server,
}) => {
  const lab = await Lab.of(server);
  const [host] = await server.api.hosts();
  await server.api.call('PATCH', `/hosts/${host?.id}`, { max_runs: 1 });
  await lab.run('while [ ! -e over ]; do sleep 0.2; done', 'Takes the host');
  for (const title of ['First come', 'Second come'])
    await server.api.start(await lab.add(title), 'true', { wait: true });
  const design = await lab.add('Design');
  const build = await lab.add('Build');
  await server.api.call('PUT', `/work-items/${build.id}/needs/${design.id}`);
  await server.api.start(build, 'true', { wait: true });

  await page.goto(server.link('/queue'));
  const rows = page.getByRole('list', { name: 'Runs that wait, next first' }).getByRole('listitem');
  const first = rows.filter({ hasText: 'First come' });
  await expect(rows).toHaveCount(3);
  await expect(rows.nth(0)).toContainText('First come');
  await expect(rows.nth(0)).toContainText('1 in the queue');
  await expect(rows.nth(0)).toContainText('1 host: full');
  await expect(rows.nth(2)).toContainText('Build');
  await expect(rows.nth(2)).toContainText(/needs/);

  await page.getByLabel('Priority of Second come').selectOption('High');
  await expect(rows.nth(0)).toContainText('Second come');
  await expect(rows.nth(1)).toContainText('First come');

  // A held run stays in the list until it is released.
  await page.getByRole('button', { name: 'Hold First come' }).click();
  await expect(first).toContainText('It is held until somebody releases it');

  // A run that is placed leaves the list without a reload.
  server.write('over', '');
  await expect(rows).toHaveCount(2);
  await expect(first).toContainText('has no place in the queue yet');
  await page.getByLabel('Select First come').click();
  await page.getByRole('button', { name: 'Release 1' }).click();
  await expect(rows).toHaveCount(1);
  await expect(rows.nth(0)).toContainText('Build');

  // A run that is stopped before it has started has no session yet whose end the server's fixture could wait for.
  const active = async () =>
    (await server.api.runs()).filter(({ status }) => /spawning|running/.test(status));
  await expect.poll(active).toHaveLength(0);
});
