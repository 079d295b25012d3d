import { expect, size, test } from './full.ts';

/** How long the measurement takes, in seconds. */
const span = 20;
/** The share of a CPU core that the board may use. */
const limit = 0.05;

test('50 printing agents cost a board of 5,000 items less than 5 % of a core', async ({
  page,
  full: { lab },
}) => {
  test.setTimeout(300_000);
  const { server } = lab;
  await page.goto(lab.board);
  await expect(page.getByRole('article').first()).toBeVisible();
  const devtools = await page.context().newCDPSession(page);
  await devtools.send('Performance.enable');
  /** used reads the CPU time of the tab's process so far, and the clock, in seconds. */
  const used = async () => {
    const { metrics } = await devtools.send('Performance.getMetrics');
    const of = (name: string) => metrics.find((each) => each.name === name)?.value ?? Number.NaN;
    return { cpu: of('ProcessTime'), at: of('Timestamp') };
  };
  /** newest returns the number of the journal's newest event. */
  const newest = async () =>
    (await server.api.call<{ items: { seq: number }[] }>('GET', '/events?limit=1')).items[0]?.seq ?? 0;
  // Wait until the page has loaded and its animations have ended. After that only events cause work.
  await page.waitForTimeout(8000);
  const before = await used();
  const firstSeq = await newest();
  await page.waitForTimeout(span * 1000);
  const after = await used();
  const events = (await newest()) - firstSeq;
  const share = (after.cpu - before.cpu) / (after.at - before.at);
  // biome-ignore lint/suspicious/noConsole: the figure is what this is run for
  console.log(
    `${size.agents} printing agents, ${(events / span).toFixed(0)} events a second: the board costs ${(share * 100).toFixed(1)} % of a core`,
  );
  expect(events, 'the agents print').toBeGreaterThan(size.agents);
  expect(share).toBeLessThan(limit);
});
