import { change, git } from './support/change.ts';
import { expect, test } from './support/test.ts';

test('a task is given to two agents in one step, their outcomes are compared, and one of them lands', async ({
  page,
  server,
}) => {
  const { lab, run, repo } = await change(server);
  const { workspace_id: first } = await lab.server.api.run(run.id);
  await lab.server.api.call('POST', `/workspaces/${first}/discard`);
  await page.goto(server.link(`/t/${run.task_id}`));
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  const dialog = page.getByRole('dialog', { name: 'Start a run' });
  await dialog.getByLabel('Provider', { exact: true }).selectOption('Shell');
  await dialog.getByLabel(/^Prompt/).fill('echo "$SVC_RUN_ID" > who.txt');
  await dialog.getByRole('button', { name: 'Compare with another run' }).click();
  await dialog.getByLabel('Provider of run 2').selectOption('Shell that takes messages');
  await dialog.getByLabel('Model of run 2').fill('large');
  await dialog.getByRole('button', { name: 'Start 2 runs' }).click();
  await expect(page.getByText('2 runs are queued')).toBeVisible();

  await page.getByRole('button', { name: 'Compare', exact: true }).first().click();
  const table = page.getByRole('region', { name: 'Runs beside each other' });
  await expect(table.getByRole('columnheader', { name: 'chat large' })).toBeVisible();
  await expect(table.getByRole('row', { name: /^Outcome/ }).getByText('Finished')).toHaveCount(3);
  const changes = table.getByRole('row', { name: /^Changes/ });
  await expect(changes.getByText('+1 −0')).toHaveCount(2);
  await expect(table.getByRole('button', { name: 'Restore' })).toHaveCount(1);

  // The newest run is the first column.
  await changes.getByRole('link', { name: '+1 −0' }).first().click();
  await expect(page).toHaveURL(/\/runs\/[^?]+\?tab=changes/);
  const landed = new URL(page.url()).pathname.split('/').at(-1) as string;
  await page.getByRole('button', { name: 'Land', exact: true }).click();
  await page
    .getByRole('dialog', { name: 'Land this change' })
    .getByRole('button', { name: 'Land it' })
    .click();
  await expect(page.getByText(/landed checkpoint \d+ into main/)).toBeVisible();
  expect(git(repo, 'show', 'main:who.txt').trim()).toBe(landed);
  await page.getByRole('button', { name: 'Discard the other working copy' }).click();
  await expect(page.getByText('The other one is discarded')).toBeVisible();

  // The comparison was not mounted meanwhile. It shows what happened to all three.
  await page.goBack();
  const work = table.getByRole('row', { name: /^Work/ });
  await expect(work.getByRole('cell')).toHaveText(['Landed into main', /^Discarded/, /^Discarded/]);
  await expect(work.getByRole('button', { name: 'Restore' })).toHaveCount(2);
});
