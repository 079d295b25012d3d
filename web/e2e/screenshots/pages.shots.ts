import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from '@playwright/test';
import { expect, Server, test } from '../support/test.ts';
import { catalog, type Demo, makeDemo } from './demo.ts';
import { withPalette } from './palette.ts';

const folder = join(import.meta.dirname, '../../../docs/screenshots');

/** Shot is one screenshot: its page, and what must be visible before it is taken. */
interface Shot {
  name: string;
  path: string;
  ready(page: Page): Promise<unknown>;
}

const heading = (page: Page, name: string | RegExp) =>
  expect(page.getByRole('heading', { name }).first()).toBeVisible();
const text = (page: Page, what: string | RegExp) => expect(page.getByText(what).first()).toBeVisible();
const screen = (page: Page, what: string) => expect(page.locator('.xterm-rows')).toContainText(what);

function shots({ slug, task, working, asking, failed, done }: Demo): Shot[] {
  return [
    { name: 'board', path: `/p/${slug}/board`, ready: (page) => text(page, /Shall I run the migration/) },
    {
      name: 'board-lanes',
      path: `/p/${slug}/board`,
      ready: async (page) => {
        await page.getByRole('button', { name: 'Lanes by parent' }).click();
        await page.mouse.move(0, 0);
      },
    },
    {
      name: 'work-item',
      path: `/p/${slug}/board?item=${task.id}`,
      ready: (page) => text(page, 'Three lines of'),
    },
    { name: 'work-item-page', path: `/t/${task.id}`, ready: (page) => text(page, 'Three lines of') },
    {
      name: 'changes',
      path: `/runs/${done.id}?tab=changes`,
      ready: async (page) => {
        await page.getByRole('radio', { name: 'Unified' }).click();
        await expect(page.getByText('package', { exact: true }).first()).toBeVisible();
        const line = page.getByRole('button', { name: 'Comment on line 6', exact: true }).first();
        await line.click();
        await page
          .getByRole('textbox', { name: 'Comment on line 6' })
          .fill('What happens with carts in two currencies? Refuse them here, with a test.');
        await page.mouse.move(0, 0);
      },
    },
    {
      name: 'changes-split',
      path: `/runs/${done.id}?tab=changes`,
      ready: async (page) => {
        await page.getByRole('radio', { name: 'Split' }).click();
        await expect(page.getByText('package', { exact: true }).first()).toBeVisible();
        await page.mouse.move(0, 0);
      },
    },
    {
      name: 'compare',
      path: `/t/${done.task_id}?tab=compare`,
      ready: (page) => text(page, 'Partly done'),
    },
    {
      name: 'replay',
      path: `/runs/${done.id}?tab=replay`,
      ready: async (page) => {
        await page.getByRole('slider', { name: 'Position' }).focus();
        await page.keyboard.press('End');
        await screen(page, '143 tests');
      },
    },
    { name: 'inbox', path: '/inbox', ready: (page) => text(page, /Shall I run the migration/) },
    { name: 'queue', path: '/queue', ready: (page) => heading(page, 'Queue') },
    { name: 'tree', path: `/p/${slug}/tree`, ready: (page) => text(page, 'Gift cards') },
    {
      name: 'start-run',
      path: `/t/${task.id}`,
      ready: async (page) => {
        await page.getByRole('button', { name: 'Run', exact: true }).click();
        await heading(page, 'Start a run');
      },
    },
    {
      name: 'palette',
      path: `/p/${slug}/board`,
      ready: async (page) => {
        await text(page, 'Cache shipping rates');
        await page.keyboard.press('Control+k');
        await page.getByRole('combobox').fill('re');
        await text(page, 'Partial refunds');
      },
    },
    { name: 'runs', path: '/runs', ready: (page) => text(page, 'Migrate open carts') },
    { name: 'run-live', path: `/runs/${working.id}`, ready: (page) => screen(page, '143 tests') },
    { name: 'run-needs-you', path: `/runs/${asking.id}`, ready: (page) => screen(page, '18,204') },
    {
      name: 'run-attached',
      path: `/runs/${asking.id}`,
      ready: async (page) => {
        await page.getByRole('button', { name: 'Attach' }).click();
        await text(page, 'You are typing');
        await screen(page, '18,204');
      },
    },
    { name: 'run-failed', path: `/runs/${failed.id}`, ready: (page) => screen(page, 'refunded twice') },
    { name: 'run-timeline', path: `/runs/${done.id}?tab=timeline`, ready: (page) => text(page, 'Started') },
    { name: 'run-log', path: `/runs/${working.id}?tab=log`, ready: (page) => text(page, '143 tests') },
    {
      name: 'run-details',
      path: `/runs/${working.id}?tab=details`,
      ready: (page) => text(page, 'What it was asked'),
    },
    { name: 'hosts', path: '/hosts', ready: (page) => text(page, 'build-2') },
    { name: 'host', path: '/hosts/build-1', ready: (page) => heading(page, 'Providers') },
    {
      name: 'add-host',
      path: '/hosts',
      ready: async (page) => {
        await page.getByRole('button', { name: 'Add a host' }).click();
        await page.getByRole('dialog').getByLabel('Name').fill('build-3');
      },
    },
    { name: 'activity', path: '/activity', ready: (page) => text(page, /Shall I run the migration/) },
    { name: 'providers', path: '/providers', ready: (page) => text(page, 'Scribe') },
    { name: 'project-settings', path: `/p/${slug}/settings`, ready: (page) => heading(page, /./) },
    { name: 'settings', path: '/settings', ready: (page) => heading(page, /./) },
  ];
}

/** SHOTS=replay,board takes only these screenshots again. */
const only = process.env.SHOTS?.split(',');
const wanted = ({ name }: Shot): boolean => !only || only.includes(name);

/** The pages of which a second screenshot is taken on a phone. */
const onPhone = [
  'board',
  'run-live',
  'run-needs-you',
  'runs',
  'hosts',
  'activity',
  'tree',
  'inbox',
  'changes',
];

test('the pages, in both themes', async ({ browser }) => {
  test.setTimeout(1_800_000);
  mkdirSync(folder, { recursive: true });
  const fresh = await Server.start({ catalog });
  try {
    for (const theme of only ? [] : (['dark', 'light'] as const)) {
      const page = await browser.newPage({ colorScheme: theme, viewport: { width: 1280, height: 800 } });
      await page.goto(`${fresh.url}/login`);
      await heading(page, 'Sign in to svc');
      await take(page, `sign-in-${theme}`);
      await page.goto(fresh.link());
      await heading(page, 'Welcome to svc');
      await text(page, /ready$/);
      await take(page, `welcome-${theme}`);
      await page.close();
    }
    const demo = await makeDemo(fresh);
    for (const theme of ['dark', 'light'] as const) {
      for (const shot of shots(demo).filter(wanted)) {
        const page = await browser.newPage({ colorScheme: theme, viewport: { width: 1280, height: 800 } });
        await page.goto(fresh.link(shot.path));
        await shot.ready(page);
        await take(page, `${shot.name}-${theme}`);
        await page.close();
      }
    }
    for (const shot of shots(demo).filter((shot) => onPhone.includes(shot.name) && wanted(shot))) {
      const page = await browser.newPage({
        colorScheme: 'dark',
        viewport: { width: 390, height: 780 },
        hasTouch: true,
        isMobile: true,
      });
      await page.goto(fresh.link(shot.path));
      if (shot.name === 'changes')
        await expect(page.getByRole('region', { name: /totals\.go/ })).toBeVisible();
      else if (shot.name.startsWith('run-')) await expect(page.getByLabel('Screen, as text')).toBeVisible();
      else await shot.ready(page);
      await take(page, `phone-${shot.name}`);
      await page.close();
    }
  } finally {
    await fresh.close();
  }
});

async function take(page: Page, name: string): Promise<void> {
  await expect(page.getByRole('status', { name: /^Loading/ })).toHaveCount(0);
  await page.evaluate(() => document.fonts.ready);
  const png = await page.screenshot({ animations: 'disabled', caret: 'hide' });
  writeFileSync(join(folder, `${name}.png`), withPalette(png));
}
