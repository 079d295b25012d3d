import { createRequire } from 'node:module';
import { expect, test, until } from './support/test.ts';

/** Player is the part of asciinema's player API that the test uses. */
interface Player {
  seek(to: number | string): Promise<void>;
}
declare const AsciinemaPlayer: {
  create(recording: { data: string }, within: HTMLElement, options: { preload: boolean }): Player;
};

const bundle = createRequire(import.meta.url).resolve('asciinema-player/dist/bundle/asciinema-player.min.js');

test("asciinema's own player shows an exported run from its start to its end, with its events", async ({
  page,
  lab,
}) => {
  const run = await lab.run('echo "café ✓"; read -r answer; clear; echo "the end"', 'Played elsewhere');
  await until('it waits', async () => (await lab.server.api.log(run.id)).includes('café'));
  await lab.server.api.call('POST', `/runs/${run.id}/keys`, { keys: ['yes', 'Enter'] });
  await lab.reaches(run, 'exited');
  const recording = await lab.server.api.recording(run.id);

  await page.goto('about:blank');
  await page.addScriptTag({ path: bundle });
  await page.evaluate((data) => {
    const player = AsciinemaPlayer.create({ data }, document.body, { preload: true });
    Object.assign(window, { player });
  }, recording);
  const seek = (to: number | string) =>
    page.evaluate((to) => (window as unknown as { player: Player }).player.seek(to), to);
  const text = page.locator('.ap-term');
  await seek('100%');
  await expect(text).toContainText('the end');
  await expect(text).not.toContainText('café');
  await seek(0);
  await expect(text).not.toContainText('the end');
  await seek(momentOf('café', recording) + 0.001);
  await expect(text).toContainText('café ✓');
  await expect(text).not.toContainText('the end');
  await expect(page.locator('.ap-marker')).not.toHaveCount(0);
});

/** momentOf returns when some words were printed, in seconds. */
function momentOf(words: string, recording: string): number {
  const events = recording
    .trim()
    .split('\n')
    .slice(1)
    .map((line) => JSON.parse(line) as [number, string, string]);
  const found = events.find(([, kind, text]) => kind === 'o' && text.includes(words));
  return found?.[0] ?? Number.NaN;
}
