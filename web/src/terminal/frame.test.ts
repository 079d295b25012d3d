import { Terminal } from '@xterm/xterm';
import { describe, expect, it } from 'vitest';
import { frameOf, gridOf, widthOf } from './frame';

const written = (terminal: Terminal, data: string): Promise<void> =>
  new Promise((done) => terminal.write(data, done));

function screen(terminal: Terminal): string[] {
  return Array.from(
    { length: terminal.rows },
    (_, y) => terminal.buffer.active.getLine(y)?.translateToString(true) ?? '',
  );
}

describe('frameOf', () => {
  it('is the one write that never shows a blank screen', () => {
    expect(frameOf('a\nb\n')).toBe(
      '\x1b[?2026h\x1b[?25l\x1b[r\x1b[?6l\x1b[0m\x1b[Ha\x1b[0m\x1b[K\r\nb\x1b[0m\x1b[K\x1b[J\x1b[H\x1b[?2026l',
    );
  });

  it('carries a style into the next row', () => {
    expect(frameOf('\x1b[31mred\nstill')).toContain('\x1b[0;38;5;1mstill');
  });

  it('lets nothing but text and SGR through', () => {
    const frame = frameOf('\x1b]0;evil\x07\x1bc\x1b[?1000h\x1b[2J\x1b]52;c;QQ==\x07ok');
    expect(frame).toContain('\x1b[Hok\x1b[0m');
    expect(frame).not.toMatch(/evil|QQ==|1000h|2J/);
  });

  it('replaces one screen by the next, also a full one by a shorter one', async () => {
    const terminal = new Terminal({ rows: 4, cols: 10, scrollback: 0, allowProposedApi: true });
    await written(terminal, frameOf('0123456789\nsecond\nthird\n0123456789\n'));
    expect(screen(terminal)).toEqual(['0123456789', 'second', 'third', '0123456789']);
    await written(terminal, frameOf('new\n\nx\n\n'));
    expect(screen(terminal)).toEqual(['new', '', 'x', '']);
    await written(terminal, frameOf('only'));
    expect(screen(terminal)).toEqual(['only', '', '', '']);
    terminal.dispose();
  });
});

describe('gridOf', () => {
  it('is the size of a new session unless the screen is larger', () => {
    expect(gridOf('x\n'.repeat(30))).toEqual({ rows: 50, cols: 220 });
    expect(gridOf(`${'x'.repeat(300)}\n`.repeat(60))).toEqual({ rows: 60, cols: 300 });
  });

  it('counts cells, not characters', () => {
    expect(widthOf('a漢\u0301🙂')).toBe(5);
  });
});
