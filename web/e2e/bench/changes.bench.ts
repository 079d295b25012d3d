import { expect, size, test } from './full.ts';
import { Figures, times } from './measure.ts';

test('a change of 300 files answers within 200 ms', async ({ page, full: { lab, changed } }) => {
  test.setTimeout(300_000);
  const figures = new Figures(page);
  await page.goto(lab.server.link(`/runs/${changed.id}?tab=changes`));
  const files = page.getByRole('navigation', { name: 'Changed files' });
  const first = page.getByRole('main').getByRole('table').first();
  await expect(page.getByText(`${size.files} files`).first()).toBeVisible();
  await expect(first).toBeVisible();
  // First the visible part, then also the rest of the list.
  for (const [what, listed] of [
    ['open the changes', 40],
    ['open the changes, to the last file in the list', size.files],
  ] as const)
    for (let i = 0; i < times; i++) {
      await page.getByRole('link', { name: 'Details' }).click();
      await expect(page.getByRole('heading', { name: 'Evidence' })).toBeVisible();
      await figures.measure(
        what,
        page.getByRole('link', { name: /^Changes/ }),
        new Function(
          `return Boolean(document.querySelector('main table td')) &&
            document.querySelectorAll('nav[aria-label="Changed files"] button').length >= ${listed}`,
        ) as () => boolean,
      );
      await expect(files.getByRole('button')).toHaveCount(size.files);
    }
  for (const [what, name] of [
    ['beside each other', 'Split'],
    ['below each other', 'Unified'],
  ] as const)
    for (let i = 0; i < times; i++) {
      await page.getByRole('radio', { name: name === 'Split' ? 'Unified' : 'Split' }).click();
      await figures.measure(
        `show the versions ${what}`,
        page.getByRole('radio', { name }),
        new Function(
          `return Boolean(document.querySelector('main table colgroup')) === ${name === 'Split'}`,
        ) as () => boolean,
      );
    }
  for (let i = 0; i < times; i++) {
    await page.evaluate(() => {
      document.body.dataset.before = document.activeElement?.id;
    });
    await figures.measure('go to a file', files.getByRole('button').nth(150 + i * 20), () => {
      const title = document.activeElement;
      if (!title?.id.startsWith('file-title-') || title.id === document.body.dataset.before) return false;
      const { top } = title.getBoundingClientRect();
      return top > 0 && top < window.innerHeight / 2;
    });
  }
  for (let i = 0; i < times; i++) {
    const file = page
      .getByRole('main')
      .getByRole('region')
      .filter({ has: page.getByRole('table') })
      .first();
    await figures.measure(
      'begin a comment',
      file.getByRole('button', { name: /^Comment on line 2/ }).first(),
      () => document.activeElement?.tagName === 'TEXTAREA',
    );
    await page.keyboard.press('Escape');
    await expect(page.getByRole('textbox', { name: /^Comment on/ })).toHaveCount(0);
  }
  figures.judge();
});
