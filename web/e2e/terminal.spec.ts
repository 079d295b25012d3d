import { change } from './support/change.ts';
import { attach, expect, screen, test, watch } from './support/test.ts';

/** An agent that prints each line that it reads. */
const echo = 'printf "ready\\n"; while read -r line; do printf "heard <%s>\\n" "$line"; done';

test('start, watch, attach, type, detach and stop', async ({ page, lab }) => {
  await lab.add('Talk to it');
  await page.goto(lab.board);
  await page
    .getByRole('article')
    .getByRole('button', { name: /Talk to it/ })
    .click();
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  const dialog = page.getByRole('dialog', { name: 'Start a run' });
  await dialog.getByLabel('Provider').selectOption('Shell');
  await dialog.getByLabel('Prompt').fill(echo);
  await dialog.getByRole('button', { name: 'Start' }).click();
  await page.getByRole('button', { name: 'Watch' }).click();

  await expect(screen(page)).toContainText('ready');
  await expect(page.getByText(/^Live, changed/)).toBeVisible();
  // The cells use the font that is shipped with the page.
  await expect(page.locator('.xterm-rows')).toHaveCSS('font-family', /^"JetBrains Mono"/);
  await expect
    .poll(() => page.evaluate(() => [...document.fonts].map(({ status }) => status)))
    .toEqual(['loaded', 'loaded']);
  await attach(page);
  await page.keyboard.type('hello agent');
  await page.keyboard.press('Enter');
  await expect(screen(page)).toContainText('heard <hello agent>');

  // Keys go to the agent now. The only exception is the detach sequence.
  await page.keyboard.type('?gbc');
  await page.keyboard.press('Enter');
  await expect(screen(page)).toContainText('heard <?gbc>');
  await page.keyboard.press('Control+Backslash');
  await page.keyboard.press('d');
  await expect(page.getByRole('button', { name: 'Attach' })).toBeVisible();
  await expect(screen(page)).toContainText('heard <hello agent>');

  await page.getByRole('button', { name: 'Stop' }).click();
  await page.getByRole('button', { name: 'Stop the run' }).click();
  await expect(page.getByRole('heading', { name: 'Someone stopped it' })).toBeVisible();
  await expect(screen(page)).toContainText('heard <hello agent>');
  await page.getByRole('link', { name: 'Timeline' }).click();
  await expect(page.getByText('Stopped').first()).toBeVisible();
});

test('a second browser waits for the keyboard and gets it on release', async ({ browser, page, lab }) => {
  const run = await lab.run(echo);
  await page.goto(lab.server.link(`/runs/${run.id}`));
  await attach(page);

  const context = await browser.newContext();
  const check = watch(context);
  try {
    const other = await context.newPage();
    await other.goto(lab.server.link(`/runs/${run.id}`));
    await expect(other.getByText('owner is typing')).toBeVisible();
    await other.getByRole('button', { name: 'Attach' }).click();
    await expect(other.getByRole('button', { name: 'Take over' })).toBeVisible();
    await other.keyboard.type('refused');
    await page.keyboard.type('from the first');
    await page.keyboard.press('Enter');
    await expect(screen(other)).toContainText('heard <from the first>');

    await page.getByRole('button', { name: 'Release' }).click();
    await expect(other.getByText('You are typing')).toBeVisible();
    await other.keyboard.type('from the second');
    await other.keyboard.press('Enter');
    await expect(screen(page)).toContainText('heard <from the second>');

    // The holder disconnects without releasing the lease. This client gets it back.
    await other.close();
    await expect(page.getByText('You are typing')).toBeVisible();
    await page.keyboard.type('mine again');
    await page.keyboard.press('Enter');
    await expect(screen(page)).toContainText('heard <mine again>');
    check();
  } finally {
    await context.close();
  }
});

test('the keyboard is taken over by name, and taken back', async ({ browser, page, lab }) => {
  const run = await lab.run(echo);
  await page.goto(lab.server.link(`/runs/${run.id}`));
  await attach(page);
  const sign = (name: string, role: string) =>
    lab.server.api.call<{ token: string }>('POST', '/tokens', { name, role });
  const { token } = await sign('keyboard-ann', 'operator');
  const viewer = await sign('keyboard-bob', 'viewer');

  const context = await browser.newContext();
  const watcher = await browser.newContext();
  const checks = [watch(context), watch(watcher)];
  try {
    const ann = await context.newPage();
    await ann.goto(`${lab.server.url}/runs/${run.id}#token=${token}`);
    await ann.getByRole('button', { name: 'Attach' }).click();
    await expect(ann.getByText('owner is typing')).toBeVisible();
    await ann.getByRole('button', { name: 'Take over' }).click();
    await expect(ann.getByText('You are typing')).toBeVisible();
    await expect(page.getByText('keyboard-ann has taken over the keyboard')).toBeVisible();
    await page.keyboard.type('not sent');
    await ann.keyboard.type('from ann');
    await ann.keyboard.press('Enter');
    await expect(screen(page)).toContainText('heard <from ann>');

    // A token that only permits watching shows who types, but no button to take the keyboard.
    const bob = await watcher.newPage();
    await bob.goto(`${lab.server.url}/runs/${run.id}#token=${viewer.token}`);
    await expect(bob.getByText('keyboard-ann is typing')).toBeVisible();
    await bob.getByRole('button', { name: 'Attach' }).click();
    await expect(bob.getByRole('button', { name: 'Detach' })).toBeVisible();
    await expect(screen(bob)).toContainText('heard <from ann>');
    await expect(bob.getByRole('button', { name: 'Take over' })).toHaveCount(0);

    await page.getByRole('button', { name: 'Take over' }).click();
    await expect(page.getByText('You are typing')).toBeVisible();
    await expect(ann.getByText('owner has taken over the keyboard')).toBeVisible();
    await page.keyboard.type('mine');
    await page.keyboard.press('Enter');
    await expect(screen(ann)).toContainText('heard <mine>');
    for (const check of checks) check();
  } finally {
    await context.close();
    await watcher.close();
  }
});

test('everyone at a terminal sees who types and who watches', async ({ browser, page, lab }) => {
  const run = await lab.run(echo);
  const sign = (name: string, role: string) =>
    lab.server.api.call<{ token: string }>('POST', '/tokens', { name, role });
  const [operator, viewer] = [await sign('watch-ann', 'operator'), await sign('watch-ben', 'viewer')];
  const words = (on: typeof page) => on.getByRole('button', { name: /Show everyone$/ });
  const announced = (on: typeof page, text: string) => on.getByRole('status').filter({ hasText: text });
  await page.goto(lab.server.link(`/runs/${run.id}`));
  await attach(page);
  await expect(words(page)).toHaveCount(0);

  const first = await browser.newContext();
  const second = await browser.newContext({ viewport: { width: 390, height: 844 } });
  const checks = [watch(first), watch(second)];
  try {
    // A browser that shows the screen is counted as watching, attached or not.
    const ann = await first.newPage();
    await ann.goto(`${lab.server.url}/runs/${run.id}#token=${operator.token}`);
    await expect(words(page)).toContainText('watch-ann watches');
    await ann.getByRole('button', { name: 'Attach' }).click();
    await expect(ann.getByText('owner is typing')).toBeVisible();
    await expect(words(ann)).toContainText('You watch');

    // On a phone only the number is shown, and a tap lists everyone.
    const ben = await second.newPage();
    await ben.goto(`${lab.server.url}/runs/${run.id}#token=${viewer.token}`);
    await ben.getByRole('button', { name: 'Attach' }).click();
    await expect(ben.getByText('owner is typing')).toBeVisible();
    await expect(words(ben).getByText('3', { exact: true })).toBeVisible();
    await expect(words(ben).getByText('You and watch-ann watch')).toBeHidden();
    await words(ben).click();
    const list = ben.getByRole('listitem').filter({ visible: true });
    await expect(list.filter({ hasText: 'owner' })).toContainText('types');
    await expect(list.filter({ hasText: 'watch-ben (you)' })).toContainText('watches');
    await expect
      .poll(() => ben.evaluate(() => document.documentElement.scrollWidth))
      .toBeLessThanOrEqual(390);

    await expect(words(page)).toContainText('watch-ann and watch-ben watch');
    await expect(announced(page, 'You type, watch-ann and watch-ben watch')).toHaveCount(1);
    await ann.getByRole('button', { name: 'Take over' }).click();
    await expect(words(page)).toContainText('You and watch-ben watch');
    await expect(announced(page, 'watch-ann types, you and watch-ben watch')).toHaveCount(1);
    await expect(ben.getByText('watch-ann is typing')).toBeVisible();

    await ann.close();
    await expect(page.getByText('You are typing')).toBeVisible();
    await expect(words(page)).toContainText('watch-ben watches');
    await ben.close();
    await expect(words(page)).toHaveCount(0);
    for (const check of checks) check();
  } finally {
    await first.close();
    await second.close();
  }
});

test('after a release the next key takes the keyboard back', async ({ page, lab }) => {
  const run = await lab.run(echo);
  await page.goto(lab.server.link(`/runs/${run.id}`));
  await attach(page);
  await page.getByRole('button', { name: 'Release' }).click();
  await expect(page.getByText('Keyboard released')).toBeVisible();
  await page.keyboard.type('again');
  await page.keyboard.press('Enter');
  await expect(page.getByText('You are typing')).toBeVisible();
  await expect(screen(page)).toContainText('heard <again>');
});

test('a run that waits for someone is said everywhere, and answered where it is seen', async ({
  page,
  lab,
}) => {
  const typed: string[] = [];
  page.on('websocket', (socket) =>
    socket.on('framesent', ({ payload }) => {
      const frame = JSON.parse(String(payload)) as { type: string; bytes: string };
      if (frame.type === 'input') typed.push(Buffer.from(frame.bytes, 'base64').toString());
    }),
  );
  const run = await lab.run(
    'svc exec signal progress --message "Which colour?" --needs-input; read -r line; printf "chose <%s>\\n" "$line"; sleep 60',
    'Paint the shed',
  );
  await page.goto(lab.board);
  await expect(page.getByRole('article').getByText('Which colour?')).toBeVisible();
  await expect(page).toHaveTitle(/^\(1\)/);
  await page.goto(lab.server.link('/activity'));
  await expect(page.getByRole('region', { name: 'Needs you' }).getByText('Which colour?')).toBeVisible();
  await page.getByRole('region', { name: 'Needs you' }).getByRole('link').click();
  await expect(page.getByRole('heading', { name: 'The agent waits for you' })).toBeVisible();
  await page.getByRole('button', { name: 'Answer', exact: true }).click();
  await expect(page.getByRole('textbox', { name: 'Terminal, attached' })).toBeFocused();
  await expect(page.getByText('You are typing')).toBeVisible();
  // Neither the wheel nor a click answers the question. Afterwards the terminal still has the focus.
  await page.locator('.xterm-screen').hover();
  await page.mouse.wheel(0, -300);
  await page.mouse.wheel(0, 300);
  await page.getByRole('radio', { name: '100 %' }).click();
  // Attaching sets the session to the window's size, in a readable font. A click returns it to the other size.
  const size = page.getByRole('button', { name: /^\d+×\d+$/ });
  await expect(size).not.toHaveText('220×50');
  await size.click();
  await expect(size).toHaveText('220×50');
  await size.click();
  await expect(size).not.toHaveText('220×50');
  expect((await lab.server.api.run(run.id)).needs_input).toBe(true);
  await page.keyboard.type('green');
  await page.keyboard.press('Enter');
  await expect(screen(page)).toContainText('chose <green>');
  // The terminal itself must not send a byte: it would count as an answer before anyone has typed one.
  expect(typed.join('')).toBe('green\r');
  expect((await lab.server.api.run(run.id)).status).toBe('running');
});

test('a provider that is on no host says before and after the start how to fix it', async ({ page, lab }) => {
  await lab.add('Cannot begin');
  await page.goto(lab.board);
  await page
    .getByRole('article')
    .getByRole('button', { name: /Cannot begin/ })
    .focus();
  await page.keyboard.press('r');
  const dialog = page.getByRole('dialog', { name: 'Start a run' });
  await dialog.getByLabel('Provider').selectOption('Absent agent (on no host)');
  await expect(dialog.getByText('svc provider doctor absent')).toBeVisible();
  await dialog.getByRole('button', { name: 'Start' }).click();
  await page.getByRole('button', { name: 'Watch' }).click();
  await expect(page.getByRole('heading', { name: 'It failed' })).toBeVisible();
  await expect(page.getByRole('code').filter({ hasText: 'svc provider doctor absent' })).toBeVisible();
});

test('a message reaches the agent without attaching, and says how it stands', async ({ page, lab }) => {
  const run = await lab.server.api.start(await lab.add('Listens'), echo, { provider: 'chat' });
  await lab.reaches(run, 'running');
  await page.goto(lab.server.link(`/runs/${run.id}`));
  await expect(screen(page)).toContainText('ready');
  const composer = page.getByRole('region', { name: 'Message to the agent' });
  await expect(composer).toContainText('It is pasted into the session now and submitted.');
  await composer.getByRole('textbox').fill('hello from below');
  // The typed text survives a reload.
  await page.reload();
  await expect(composer.getByRole('textbox')).toHaveValue('hello from below');
  await composer.getByRole('button', { name: 'Send' }).click();
  await expect(screen(page)).toContainText('heard <hello from below>');
  await expect(composer.getByRole('listitem')).toContainText(
    /Pasted and submitted|Not known whether it arrived/,
  );
  await expect(composer.getByRole('textbox')).toHaveValue('');

  await attach(page);
  await expect(composer).toBeHidden();
});

test('a session is text to read where its whole grid would be too small, and fills the window when attached', async ({
  page,
  lab,
}) => {
  const run = await lab.run(echo);
  await page.setViewportSize({ width: 900, height: 700 });
  await page.goto(lab.server.link(`/runs/${run.id}`));
  await expect(page.getByRole('region', { name: 'Screen, as text' })).toContainText('ready');
  await expect(page.getByRole('radio', { name: 'Reader' })).toBeChecked();
  await attach(page);
  const font = () => screen(page).evaluate((rows) => Number.parseFloat(getComputedStyle(rows).fontSize));
  await expect.poll(font).toBeGreaterThanOrEqual(12);
});

test('what is written to a run that is over becomes a run that continues it', async ({ page, server }) => {
  const { lab, run } = await change(server);
  await page.goto(server.link(`/runs/${run.id}`));
  const composer = page.getByRole('region', { name: 'Continue this run' });
  await expect(composer).toContainText(
    'sh cannot continue this conversation: a new run starts another one on build-1',
  );
  await composer.getByRole('textbox').fill('cat paint.txt; echo "and on"');
  await page.keyboard.press('Control+Enter');
  await expect(page).not.toHaveURL(new RegExp(run.id));
  await expect(page.getByRole('heading', { name: 'It finished' })).toBeVisible();
  const id = new URL(page.url()).pathname.split('/').at(-1) as string;
  const next = await server.api.run(id);
  expect(next.continues_run_id).toBe(run.id);
  expect(next.workspace_id).toBe((await server.api.run(run.id)).workspace_id);
  expect(await lab.server.api.log(id)).toMatch(/red\s+and on/);
});
