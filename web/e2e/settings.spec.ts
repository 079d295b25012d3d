import type { Project } from '../src/api/records.ts';
import { expect, test } from './support/test.ts';

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

  // Someone else changes what is being edited, and something that is not.
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
