import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { expect, type Page } from '@playwright/test';
import type { AxeResults, RunOptions } from 'axe-core';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** clean fails if axe finds a violation on the current page, in either theme. */
export async function clean(page: Page, what: string): Promise<void> {
  // The policy allows no inline script, so axe is injected through the debugger's protocol.
  await page.evaluate(axe);
  expect.soft(await found(page, 'dark', {}), `${what}, dark`).toEqual([]);
  // A theme changes only colours, so only the contrast is checked again.
  const colours: RunOptions = { runOnly: ['color-contrast'] };
  expect.soft(await found(page, 'light', colours), `${what}, light`).toEqual([]);
}

async function found(page: Page, theme: 'dark' | 'light', options: RunOptions): Promise<string[]> {
  await page.emulateMedia({ colorScheme: theme, reducedMotion: 'reduce' });
  await expect(page.locator('html')).toHaveAttribute('data-theme', theme);
  const results = await page.evaluate(async (given) => {
    // During a transition the colours are not final, so wait until all animations end.
    for (let frame = 0; frame < 2; frame++) await new Promise(requestAnimationFrame);
    await Promise.all(document.getAnimations().map((each) => each.finished.catch(() => {})));
    const { axe } = window as unknown as { axe: { run(options: RunOptions): Promise<AxeResults> } };
    return axe.run({ ...given, resultTypes: ['violations'] });
  }, options);
  return results.violations.map(
    ({ id, nodes }) => `${id}: ${nodes.map((node) => `${node.target} ${node.failureSummary}`).join('\n')}`,
  );
}
