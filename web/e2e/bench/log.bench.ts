import { expect, test } from './full.ts';
import { Figures, times } from './measure.ts';

test('a log of 200,000 lines answers within 200 ms', async ({ page, full: { lab } }) => {
  test.setTimeout(300_000);
  const figures = new Figures(page);
  const lines = 200_000;
  const script = `awk 'BEGIN { for (i = 1; i <= ${lines}; i++) printf "line %d of the log \\033[32mgreen\\033[0m and plain\\n", i }'; sleep 600`;
  const run = await lab.run(script, 'Talks a lot');
  const log = page.getByRole('link', { name: 'Log' });
  const whole = () => expect(page.getByRole('log')).toContainText(`line ${lines} of`, { timeout: 60_000 });
  const rows = () => document.querySelectorAll('[role="log"] [data-index]').length > 5;
  for (let i = 0; i < times; i++) {
    await page.goto(lab.server.link(`/runs/${run.id}?tab=details`));
    await expect(page.getByRole('heading', { name: 'Evidence' })).toBeVisible();
    await figures.measure('open the log tab, first lines', log, rows);
    await whole();
    await page.getByRole('link', { name: 'Details' }).click();
    await figures.measure('open the log tab again', log, rows);
    await whole();
  }
  for (let i = 0; i < times; i++) {
    await page.getByRole('log').hover();
    await page.evaluate(() => {
      document.body.dataset.first = document.querySelector('[role="log"] [data-index]')?.textContent ?? '';
    });
    await figures.measure(
      'scroll the log by a page',
      () => page.mouse.wheel(0, -600),
      () => document.querySelector('[role="log"] [data-index]')?.textContent !== document.body.dataset.first,
    );
  }
  for (let i = 0; i < times; i++) {
    await page.getByLabel('Find in the log').fill('');
    await figures.measure(
      'find in 200,000 lines, a first letter',
      () => page.keyboard.press('g'),
      () => document.body.innerText.includes('1 of 200,000 lines'),
    );
    await page.getByLabel('Find in the log').fill('line 19999');
    await expect(page.getByText(/of 11 lines/)).toBeVisible();
    await figures.measure(
      'find in 200,000 lines, a letter more',
      () => page.keyboard.press('9'),
      () =>
        document.body.innerText.includes('1 of 2 lines') || document.body.innerText.includes('1 of 1 lines'),
    );
    await figures.measure(
      'go to what was found',
      () => page.keyboard.press('Enter'),
      () => Boolean(document.querySelector('[role="log"] mark')),
    );
  }
  figures.judge();
});
