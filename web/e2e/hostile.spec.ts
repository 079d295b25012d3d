import { expect, screen, test, until } from './support/test.ts';

// Each of these would set window.hacked, navigate away or break the layout if it were not treated as text.
const html = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>';
const title = `${html} "><svg onload=hacked=1> {{7*7}} \u202Eevil\u202C`;
const link =
  '[click](javascript:window.hacked=1) <iframe src="javascript:hacked=1"></iframe> ![x](x onerror=hacked=1)';
const sequences =
  '\x1b]0;title\x07\x1b]8;;javascript:window.hacked=1\x07link\x1b]8;;\x07\x1b[31mred\x1b[0m\x1b[?1049h\x1b[2J\x1b[H';

test('hostile titles, output and hook messages do nothing but show', async ({ page, lab }) => {
  const { api } = lab.server;
  lab.server.write(
    'hostile.txt',
    `${sequences}${html}\n${'A'.repeat(1_000_000)}\n\u202Ertl ${link}\n\x1b]52;c;aGFja2Vk\x07\x1bP$q"p\x1b\\after\n`,
  );
  const task = await api.add(lab.project, title, { description: `${link}\n\n${html}` });
  const run = await api.start(
    task,
    `cat hostile.txt; svc exec signal progress --needs-input --message '${html} \u202Ehook' --percent 50; sleep 60`,
  );
  await until('the hook spoke', async () => (await api.run(run.id)).needs_input);

  const harmless = async (): Promise<void> => {
    expect(await page.evaluate(() => (window as { hacked?: number }).hacked)).toBeUndefined();
    expect(new URL(page.url()).host).toBe(new URL(lab.server.url).host);
    expect(await page.locator('main img[src="x"], main iframe, main svg[onload]').count()).toBe(0);
    expect(await page.locator('a[href^="javascript:" i]').count()).toBe(0);
    expect(
      await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth),
    ).toBe(0);
  };

  await page.goto(lab.board);
  await expect(page.getByRole('article').getByText('<img src=x').first()).toBeVisible();
  await expect(page.getByRole('article').getByText(/hook/)).toBeVisible();
  await harmless();
  await page.goto(lab.server.link(`/t/${task.id}`));
  await expect(page.getByText('<iframe').first()).toBeVisible();
  await harmless();
  await page.goto(lab.tree);
  await expect(page.getByRole('treeitem')).toContainText('<img src=x');
  await harmless();
  await page.goto(lab.server.link('/activity'));
  await expect(page.getByRole('region', { name: 'Needs you' })).toContainText('<img src=x');
  await harmless();

  await page.goto(lab.server.link(`/runs/${run.id}`));
  await expect(screen(page)).toContainText('after');
  await harmless();
  await page.getByRole('radio', { name: 'Reader' }).click();
  await expect(page.getByRole('region', { name: 'Screen, as text' })).toContainText('after');
  await harmless();
  await page.getByRole('link', { name: 'Log' }).click();
  await expect(page.getByRole('log')).toContainText('after');
  await expect(page.getByRole('button', { name: /99\d,\d{3} more characters/ })).toBeAttached();
  await page.getByRole('button', { name: 'Wrap lines' }).click();
  await page.getByLabel('Find in the log').fill('rtl');
  await expect(page.getByText('1 of 1 lines')).toBeVisible();
  await harmless();
  await page.getByRole('link', { name: 'Timeline' }).click();
  await expect(page.getByText(/<img src=x/).first()).toBeVisible();
  await harmless();
  await page.getByRole('link', { name: 'Details' }).click();
  await expect(page.getByRole('heading', { level: 1 })).toContainText('<img src=x');
  await harmless();
});
