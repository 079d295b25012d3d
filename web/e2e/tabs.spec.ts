import { column, expect, Lab, test } from './support/test.ts';

test('ten tabs load, stay live and share one event stream', async ({ context, fresh: server }) => {
  const lab = await Lab.of(server);
  await lab.add('Seen ten times');
  const pages = [];
  for (let i = 0; i < 10; i++) {
    const page = await context.newPage();
    await page.goto(lab.board);
    await expect(column(page, 'To do').getByText('Seen ten times')).toBeVisible();
    pages.push(page);
  }
  await expect.poll(() => server.api.streams()).toBe(1);
  await lab.add('News for all', { status: 'doing' });
  for (const page of pages) await expect(column(page, 'Doing').getByText('News for all')).toBeVisible();
  // The tab that opened the stream is closed. The others keep the stream.
  await pages[0]?.close();
  await lab.add('Later news', { status: 'doing' });
  for (const page of pages.slice(1))
    await expect(column(page, 'Doing').getByText('Later news')).toBeVisible();
  await expect.poll(() => server.api.streams()).toBe(1);
});
