import { Terminal } from '@xterm/xterm';
import { expect, it } from 'vitest';
import { Playback } from './playback';
import type { Recording, Step } from './recording';

/**
 * story moves the cursor, sets colours, scrolls, splits sequences across steps, and changes the size and the buffer.
 */
const story: Step[] = [
  { at: 0, data: 'first line\r\nsecond \x1b[3' },
  { at: 100, data: '1mred\x1b[0m\r\n' },
  { at: 200, cols: 30, rows: 8 },
  { at: 200, data: Array.from({ length: 12 }, (_, i) => `row ${i} of a longer text\r\n`).join('') },
  { at: 400, data: '\x1b[?1049h\x1b[2;4Hother buffer\x1b]0;tit' },
  { at: 500, data: 'le\x07\x1b[3;1Hmore' },
  { at: 600, cols: 12, rows: 4 },
  { at: 700, data: '\x1b[?1049l\x1b[1;2r\x1b[Hnarrow and wrapped' },
  { at: 800, data: '\x1b[r\x1b[4;1H\x1b[7mend' },
];
const recording: Recording = {
  cols: 20,
  rows: 5,
  steps: story,
  marks: [],
  times: [...new Set(story.map(({ at }) => at))],
  length: 800,
  cut: false,
};

const blank = () => new Terminal({ cols: 20, rows: 5, scrollback: 0, allowProposedApi: true });

function look(terminal: Terminal): unknown {
  const { active } = terminal.buffer;
  const lines = Array.from({ length: terminal.rows }, (_, y) => {
    const line = active.getLine(active.baseY + y);
    return Array.from({ length: terminal.cols }, (_, x) => {
      const cell = line?.getCell(x);
      return `${cell?.getChars()}/${cell?.getFgColor()}/${cell?.isInverse()}`;
    }).join('|');
  });
  return { cols: terminal.cols, lines, cursor: [active.cursorX, active.cursorY], buffer: active.type };
}

/** straight returns the screen at a time, after each step before it was drawn separately. */
async function straight(until: number): Promise<unknown> {
  const terminal = blank();
  for (const step of story.filter(({ at }) => at <= until)) {
    if ('data' in step) await new Promise<void>((done) => terminal.write(step.data, done));
    else terminal.resize(step.cols, step.rows);
  }
  return look(terminal);
}

it('shows after any seek the screen that a straight play has at that moment', async () => {
  const terminal = blank();
  const playback = new Playback(recording, terminal);
  let seed = 7;
  for (let i = 0; i < 60; i++) {
    seed = (seed * 1103515245 + 12345) % 2 ** 31;
    const at = seed % 900;
    await playback.show(at);
    expect(look(terminal), `seek ${i} to ${at}`).toEqual(await straight(at));
  }
});

it('draws the last moment that was asked for when many come at once', async () => {
  const terminal = blank();
  const playback = new Playback(recording, terminal);
  await Promise.all([800, 100, 650, 0, 450].map((at) => playback.show(at)));
  expect(look(terminal)).toEqual(await straight(450));
});
