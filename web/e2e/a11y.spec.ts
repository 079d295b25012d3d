import type { Page } from '@playwright/test';
import { clean } from './support/axe.ts';
import { change } from './support/change.ts';
import { expect, type Lab, test } from './support/test.ts';

/** go opens a page and waits until it has loaded. */
async function go(page: Page, lab: Lab, path: string): Promise<void> {
  await page.goto(lab.server.link(path));
  await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
  await expect(page.getByRole('status', { name: /^Loading/ })).toHaveCount(0);
}

test.describe('axe finds nothing, in both themes', () => {
  test('on the way in and where there is nothing yet', async ({ page, lab }) => {
    const { slug } = lab.project;
    await page.goto(`${lab.server.url}/login`);
    await expect(page.getByRole('heading', { name: 'Sign in to svc' })).toBeVisible();
    await clean(page, 'sign in');
    await go(page, lab, `/p/${slug}/board`);
    await clean(page, 'empty board');
    await go(page, lab, `/p/${slug}/tree`);
    await clean(page, 'empty tree');
  });

  test('where work is planned', async ({ page, lab }) => {
    const { slug } = lab.project;
    const epic = await lab.add('Payments', {
      kind: 'epic',
      description: '## Why\n\n- [x] one\n- [ ] two `code`\n\n| Name | Count |\n|---|---:|\n| a | 1 |\n',
    });
    await lab.add('Refunds', { parent_id: epic.id });
    const doing = await lab.add('Invoices', { parent_id: epic.id, status: 'doing' });
    await lab.add('Receipts', { status: 'done' });
    await lab.add('Cheques', { status: 'cancelled' });
    await go(page, lab, `/p/${slug}/tree`);
    await clean(page, 'tree');
    await go(page, lab, `/p/${slug}/settings`);
    await clean(page, 'project settings');
    await page.getByRole('button', { name: 'Archive' }).click();
    await expect(page.getByRole('dialog')).toBeVisible();
    await clean(page, 'archive a project');
    await go(page, lab, `/t/${epic.id}`);
    await page.getByRole('button', { name: 'Add a need' }).click();
    await expect(page.getByRole('listbox').getByRole('option').first()).toBeVisible();
    await clean(page, 'item page, with a need to be added');
    await go(page, lab, `/p/${slug}/board`);
    await page.getByRole('button', { name: /Cancelled/ }).click();
    await page.getByRole('button', { name: 'Lanes by parent' }).click();
    await clean(page, 'board with lanes');
    await page.getByRole('button', { name: 'Without lanes' }).click();
    await clean(page, 'board');
    await page.getByRole('article').filter({ hasText: doing.title }).getByRole('checkbox').check();
    await expect(page.getByRole('region', { name: 'Selection' })).toBeVisible();
    await clean(page, 'board with a selection');
    await page.keyboard.press('Escape');
    await page.keyboard.press('Shift+?');
    await expect(page.getByRole('dialog')).toBeVisible();
    await clean(page, 'help');
    await page.keyboard.press('Escape');
    await page.keyboard.press('Control+k');
    await expect(page.getByRole('combobox')).toBeVisible();
    await clean(page, 'palette');
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'New', exact: true }).click();
    await expect(page.getByRole('dialog')).toBeVisible();
    await clean(page, 'new item');
    await page.keyboard.press('Escape');
    const card = page.getByRole('article').filter({ hasText: doing.title });
    await card.hover();
    await card.getByRole('button', { name: 'Actions' }).click();
    await expect(page.getByRole('menu')).toBeVisible();
    await clean(page, 'card menu');
    await page.getByRole('menuitem', { name: /^Delete/ }).click();
    await expect(page.getByRole('dialog')).toBeVisible();
    await clean(page, 'delete an item');
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: lab.project.name }).click();
    await page.getByRole('menuitem', { name: 'New project' }).click();
    await expect(page.getByRole('dialog', { name: 'New project' })).toBeVisible();
    await clean(page, 'new project');
  });

  test('where runs are watched', async ({ page, lab }) => {
    const { server, project } = lab;
    const task = await lab.add('Refunds', { description: 'With a [link](https://example.com).' });
    const colours = [0, 1, 2, 3, 4, 5, 6, 7]
      .map((i) => `\\033[3${i}mcolour ${i}\\033[0m \\033[9${i}mbright\\033[0m \\033[4${i}mback\\033[0m\\n`)
      .join('');
    const run = await server.api.start(
      task,
      `printf '${colours}'; svc exec signal progress --message "Which one?" --needs-input; read -r line`,
    );
    await lab.reaches(run, 'running');
    const failed = await server.api.start(await lab.add('Breaks'), 'echo no; exit 3');
    await lab.reaches(failed, 'failed');

    await go(page, lab, `/p/${project.slug}/board?item=${task.id}`);
    await expect(page.getByRole('dialog', { name: 'Work item' })).toBeVisible();
    await clean(page, 'item sheet over a board with runs');
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await page.getByText('Model, arguments, directory, restarts').click();
    await clean(page, 'start a run');
    await go(page, lab, '/inbox');
    await expect(page.getByText('Which one?')).toBeVisible();
    await clean(page, 'inbox');
    await go(page, lab, '/runs');
    await clean(page, 'runs');
    await page.getByRole('checkbox').first().check();
    await page.getByRole('button', { name: 'Stop 1' }).click();
    await expect(page.getByRole('dialog', { name: 'Stop 1 run?' })).toBeVisible();
    await clean(page, 'runs with a selection, about to be stopped');
    await go(page, lab, '/wall');
    await expect(page.getByRole('article', { name: task.title })).toContainText('colour 7');
    await clean(page, 'wall');
    await page.getByRole('button', { name: new RegExp(task.title) }).click();
    await expect(page.getByRole('region', { name: 'Enlarged' })).toBeVisible();
    await expect(page.getByRole('region', { name: 'Screen, as text' })).toContainText('colour 7');
    await clean(page, 'wall, enlarged');
    const later = new Date(Date.now() + 3_600_000).toISOString();
    await server.api.start(await lab.add('Later'), 'true', { not_before: later });
    await go(page, lab, '/queue');
    await expect(page.getByRole('link', { name: 'Later' })).toBeVisible();
    await clean(page, 'queue');
    await go(page, lab, `/runs/${failed.id}`);
    await expect(page.getByRole('heading', { name: 'It failed' })).toBeVisible();
    await clean(page, 'failed run');
    for (const tab of ['timeline', 'log', 'replay', 'details']) {
      await go(page, lab, `/runs/${run.id}?tab=${tab}`);
      await clean(page, tab);
    }
    await go(page, lab, `/runs/${run.id}`);
    await expect(page.locator('.xterm-rows')).toContainText('colour 7');
    await clean(page, 'live');
    await page.getByRole('button', { name: 'Stop' }).click();
    await expect(page.getByRole('dialog')).toBeVisible();
    await clean(page, 'stop dialog');
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Attach' }).click();
    await expect(page.getByText('You are typing')).toBeVisible();
    await clean(page, 'attached');
    await page.getByRole('radio', { name: 'Reader' }).click();
    await clean(page, 'reader');
  });

  test('where the fleet is kept', async ({ page, lab }) => {
    await go(page, lab, '/hosts');
    await clean(page, 'hosts');
    await page.getByRole('button', { name: 'Add a host' }).click();
    await expect(page.getByRole('dialog')).toBeVisible();
    await clean(page, 'add a host');
    await go(page, lab, '/hosts/build-1');
    await clean(page, 'host');
    await page.getByRole('button', { name: 'Disable' }).click();
    await expect(page.getByRole('dialog')).toBeVisible();
    await clean(page, 'disable dialog');
    await page.keyboard.press('Escape');
    for (const action of ['Show the join command', 'Delete…']) {
      await page.getByRole('button', { name: 'More' }).click();
      await page.getByRole('menuitem', { name: action }).click();
      await expect(page.getByRole('dialog')).toBeVisible();
      await clean(page, `${action} of a host`);
      await page.keyboard.press('Escape');
    }
    for (const path of ['/activity', '/providers', '/settings', '/runs/none', '/nowhere']) {
      await go(page, lab, path);
      await clean(page, path);
    }
    await go(page, lab, '/settings');
    await page.getByRole('button', { name: 'New token' }).click();
    await expect(page.getByRole('dialog')).toBeVisible();
    await clean(page, 'new token');
    await page.getByLabel('Name').fill('axe');
    await page.getByRole('button', { name: 'Make it' }).click();
    await expect(page.getByRole('dialog', { name: 'The token of axe' })).toBeVisible();
    await clean(page, 'a new token');
    await page.getByRole('button', { name: 'Done' }).click();
    await page.getByRole('button', { name: 'Revoke axe' }).click();
    await expect(page.getByRole('dialog')).toBeVisible();
    await clean(page, 'revoke a token');
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: /^Drain / }).click();
    await expect(page.getByRole('dialog')).toBeVisible();
    await clean(page, 'drain an orchestrator');
  });

  test('where changes are read', async ({ page, lab }) => {
    const code = 'package shed\n\n// Paint it.\nfunc Paint() string { return "red" + string(rune(7)) }\n';
    const { run } = await change(
      lab.server,
      `sed -i s/two/zwei/ shed.txt; cat > shed.go <<'END'\n${code}END`,
    );
    await go(page, lab, `/runs/${run.id}?tab=changes`);
    const shed = page.getByRole('region', { name: 'shed.txt' });
    await expect(shed.getByRole('table')).toContainText('zwei');
    await expect(
      page.getByRole('region', { name: 'shed.go' }).getByText('func', { exact: true }),
    ).toBeVisible();
    await clean(page, 'a change');
    await page.getByRole('radio', { name: 'Split' }).click();
    await clean(page, 'a change, split');
    await page.getByRole('radio', { name: 'Unified' }).click();
    await shed.getByRole('button', { name: 'Comment on line 2', exact: true }).click();
    await shed.getByRole('textbox').fill('Say it in English');
    await clean(page, 'a comment being written');
    await shed.getByRole('button', { name: 'Add draft' }).click();
    await expect(shed.getByText('Draft, not sent')).toBeVisible();
    await clean(page, 'a comment');
    await page.getByRole('button', { name: 'Send 1 comment' }).click();
    await expect(page.getByRole('region', { name: 'What the agent gets' })).toContainText('English');
    await clean(page, 'comments to send');
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Land' }).click();
    await expect(page.getByRole('dialog', { name: 'Land this change' })).toBeVisible();
    await clean(page, 'a change to land');
    await go(page, lab, `/runs/${run.id}`);
    await expect(page.getByRole('region', { name: 'Continue this run' })).toBeVisible();
    await clean(page, 'a run to be continued');
    await page.getByRole('button', { name: 'Run again' }).click();
    await expect(page.getByRole('dialog', { name: 'Run again' })).toBeVisible();
    await clean(page, 'run again');
    const { api } = lab.server;
    const second = await api.start(await api.item(run.task_id), 'true');
    await lab.reaches(second, 'exited');
    await go(page, lab, `/t/${run.task_id}?tab=compare`);
    await expect(page.getByRole('row', { name: /^Outcome/ }).getByText('Finished')).toHaveCount(2);
    await clean(page, 'runs beside each other');
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await page.getByRole('button', { name: 'Compare with another run' }).click();
    await clean(page, 'two runs to start');
  });
});
