import { change } from './support/change.ts';
import { expect, test } from './support/test.ts';

test('a task is given to two agents in one step, and their outcomes are compared', async ({
  page,
  server,
}) => {
  const { lab, run } = await change(server);
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
  await expect(table.getByRole('row', { name: /^Changes/ }).getByText('+1 −0')).toHaveCount(2);
  await expect(table.getByRole('button', { name: 'Restore' })).toHaveCount(1);
});
