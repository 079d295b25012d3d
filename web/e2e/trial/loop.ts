import type { Locator, Page } from '@playwright/test';
import { git, repository } from '../support/change.ts';
import type { Server } from '../support/server.ts';
import { expect, screen, test } from '../support/test.ts';

/** Hand is one input device: how a person who has only this device uses the page. Only text is typed. */
export interface Hand {
  /** press activates a button or a link. */
  press(target: Locator): Promise<void>;
  /** choose selects an entry of the open menu. */
  choose(entry: Locator): Promise<void>;
  /** write puts text into a field. */
  write(field: Locator, text: string): Promise<void>;
  /** submit sends the form whose only line was just written. button is the form's button. */
  submit(button: Locator): Promise<void>;
  /** open opens a card of the board. */
  open(card: Locator): Promise<void>;
  /** go opens a page from the navigation. */
  go(place: 'Inbox' | 'Board' | 'Runs'): Promise<void>;
  /** selectAll selects every card of the board. */
  selectAll(): Promise<void>;
}

export const cards = (page: Page): Locator => page.getByRole('article');
export const selectionBar = (page: Page): Locator => page.getByRole('region', { name: 'Selection' });

// The shell is the agent. Its prompt is the title and, below it, the description.
const asks =
  'svc exec signal progress --message "Which colour?" --needs-input; read -r line; echo "chose <$line>"';
const writes = 'echo at work; sed -i s/three/drei/ shed.txt';

/** loop goes through the whole workflow on a new installation, with one input device. */
export async function loop(page: Page, hand: Hand, server: Server): Promise<void> {
  const repo = repository(server);
  await page.goto(server.link());
  await test.step('a project is made', () => makeProject(page, hand, repo));
  await test.step('twenty tasks are planned', () => plan(page, hand));
  await test.step('they are queued', () => queue(page, hand, server));
  await test.step('a question is answered', () => answer(page, hand, server));
  await test.step('a change is commented on and landed', () => land(page, hand));
  expect(git(repo, 'show', 'main:shed.txt')).toContain('drei');
  await test.step('a run is replayed', () => replay(page, hand));
}

async function makeProject(page: Page, hand: Hand, repo: string): Promise<void> {
  await hand.press(page.getByRole('button', { name: 'New project' }));
  const dialog = page.getByRole('dialog', { name: 'New project' });
  await hand.write(dialog.getByLabel('Name'), 'Shed');
  await hand.write(dialog.getByLabel('Repository'), repo);
  await hand.submit(dialog.getByRole('button', { name: 'Create project' }));
  await expect(page.getByRole('heading', { name: 'An empty board' })).toBeVisible();
}

async function plan(page: Page, hand: Hand): Promise<void> {
  await hand.press(page.getByRole('button', { name: 'Add the first work item' }));
  const dialog = page.getByRole('dialog', { name: 'New work item' });
  const title = dialog.getByLabel('Title');
  const create = dialog.getByRole('button', { name: 'Create', exact: true });
  await hand.press(dialog.getByRole('checkbox', { name: 'Create another' }));
  for (const [name, description] of [
    ['Choose a colour', asks],
    ['Translate the rest', writes],
  ] as const) {
    await hand.write(title, name);
    await hand.write(dialog.getByLabel('Description'), description);
    await hand.press(create);
    await expect(title).toHaveValue('');
  }
  for (let part = 3; part <= 20; part++) {
    // The form is ready for the next item without a click.
    await expect(title).toBeFocused();
    await page.keyboard.type(`echo part ${part}`);
    await hand.submit(create);
    await expect(title).toHaveValue('');
  }
  await hand.press(dialog.getByRole('button', { name: 'Done' }));
  await expect(dialog).toBeHidden();
  await expect(page.getByRole('region', { name: /^To do, 20/ })).toBeVisible();
}

async function queue(page: Page, hand: Hand, server: Server): Promise<void> {
  await hand.selectAll();
  await hand.press(selectionBar(page).getByRole('button', { name: /^Start/ }));
  await hand.choose(page.getByRole('menuitem', { name: 'Shell', exact: true }));
  const dialog = page.getByRole('dialog', { name: /^Start 20 runs/ });
  await hand.press(dialog.getByRole('button', { name: 'Start 20 runs' }));
  await expect(page.getByText('20 runs queued')).toBeVisible();
  expect(await server.api.runs()).toHaveLength(20);
}

async function answer(page: Page, hand: Hand, server: Server): Promise<void> {
  await hand.go('Inbox');
  const question = page.getByRole('main').getByRole('listitem').filter({ hasText: 'Choose a colour' });
  await expect(question).toContainText('Which colour?');
  await hand.write(question.getByLabel('Answer to Choose a colour'), 'green');
  await hand.submit(question.getByRole('button', { name: 'Send' }));
  await expect(question).toHaveCount(0);
  const run = (await server.api.runs()).find((each) => each.task_title === 'Choose a colour');
  await expect.poll(() => server.api.log(run?.id ?? '')).toContain('chose <green>');
}

async function land(page: Page, hand: Hand): Promise<void> {
  await hand.go('Board');
  await hand.open(cards(page).filter({ hasText: 'Translate the rest' }));
  const sheet = page.getByRole('dialog', { name: 'Work item' });
  await hand.press(sheet.getByRole('button', { name: /^Changes/ }));
  const file = sheet.getByRole('region', { name: 'shed.txt', exact: true });
  await hand.press(file.getByRole('button', { name: 'Comment on shed.txt' }));
  await hand.write(file.getByRole('textbox', { name: 'Comment on shed.txt' }), 'Why German?');
  await hand.press(file.getByRole('button', { name: 'Add draft' }));
  await expect(file.getByText('Draft, not sent')).toBeVisible();
  await hand.press(sheet.getByRole('button', { name: 'Land', exact: true }));
  await expect(page.getByText('1 comment was not sent')).toBeVisible();
  await hand.press(page.getByRole('button', { name: 'Land it' }));
  await expect(sheet.getByText(/landed checkpoint \d+ into main/)).toBeVisible();
}

async function replay(page: Page, hand: Hand): Promise<void> {
  await hand.go('Runs');
  await hand.write(page.getByRole('searchbox', { name: 'Search runs' }), 'Translate');
  await hand.press(page.getByRole('main').getByRole('link', { name: /Translate the rest/ }));
  await hand.press(page.getByRole('link', { name: 'Replay' }));
  await hand.press(page.getByRole('button', { name: 'Play' }));
  await expect(screen(page)).toContainText('at work');
}
