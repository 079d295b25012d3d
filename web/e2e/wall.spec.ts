import type { WebSocket } from '@playwright/test';
import { expect, screen, test } from './support/test.ts';

test('the wall shows live screens, those that need you first, and takes keys without leaving', async ({
  page,
  lab,
}) => {
  // A tile and the enlarged screen of the same run have a socket each, and one may open before the other is closed.
  const sockets = new Set<WebSocket>();
  const paths = () => [...sockets].map((socket) => new URL(socket.url()).pathname);
  page.on('websocket', (socket) => {
    if (!new URL(socket.url()).pathname.endsWith('/pane/ws')) return;
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  await lab.run('i=0; while :; do i=$((i+1)); echo "tick $i"; sleep 0.5; done', 'Ticks away');
  const asks = await lab.run(
    'echo ready; svc exec signal progress --message "Which wall colour?" --needs-input; read -r line; echo "chose <$line>"; sleep 600',
    'Asks on the wall',
  );
  await lab.run('sleep 600', 'Newest of them');
  await page.goto(lab.server.link(`/wall?project=${lab.project.slug}`));
  const tiles = page.getByRole('list', { name: 'Runs at work, those that need you first' });
  await expect(tiles.getByRole('article')).toHaveCount(3);
  await expect(tiles.getByRole('article').first()).toContainText('Asks on the wall');
  await expect(tiles.getByRole('article').first()).toContainText('Which wall colour?');
  await expect(tiles.getByRole('article', { name: 'Ticks away' })).toContainText(/tick \d+/);
  await expect.poll(() => sockets.size).toBe(3);

  // One screen is enlarged, answered, and closed with Esc.
  await tiles.getByRole('button', { name: /Asks on the wall/ }).click();
  await expect(page.getByRole('heading', { level: 1, name: /Asks on the wall/ })).toBeVisible();
  await expect.poll(paths).toEqual([`/api/v1/runs/${asks.id}/pane/ws`]);
  await page.getByRole('button', { name: 'Answer' }).click();
  await expect(page.getByRole('textbox', { name: 'Terminal, attached' })).toBeFocused();
  await expect(page.getByText('You are typing')).toBeVisible();
  await page.keyboard.type('green');
  await page.keyboard.press('Enter');
  await expect(screen(page)).toContainText('chose <green>');
  await page.keyboard.press('Control+Backslash');
  await page.keyboard.press('d');
  await expect(page.getByRole('button', { name: 'Attach' })).toBeFocused();
  await page.keyboard.press('Escape');
  await expect(tiles.getByRole('button', { name: /Asks on the wall/ })).toBeFocused();
  await expect(tiles.getByRole('article').first()).toContainText('Newest of them');
  await expect(tiles.getByRole('article', { name: 'Asks on the wall' })).toContainText('chose <green>');

  // A tile that is out of view has no socket.
  await page.setViewportSize({ width: 560, height: 420 });
  await expect.poll(() => sockets.size).toBeLessThan(3);
  await page.setViewportSize({ width: 1280, height: 800 });
  await expect.poll(() => sockets.size).toBe(3);

  // A selection in the list of runs can be opened as a wall.
  await page.goto(lab.server.link(`/runs?project=${lab.project.slug}`));
  await page.getByRole('checkbox', { name: /^Select Ticks away,/ }).check();
  await page.getByRole('link', { name: 'Watch 1' }).click();
  await expect(tiles.getByRole('article')).toHaveCount(1);
  await page.getByRole('button', { name: '1 selected: show all' }).click();
  await expect.poll(() => tiles.getByRole('article').count()).toBeGreaterThan(1);
});
