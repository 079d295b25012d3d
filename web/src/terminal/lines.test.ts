import { describe, expect, it } from 'vitest';
import { LineSplitter, longestLine } from './lines';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const texts = (lines: { text: string }[]): string[] => lines.map((line) => line.text);

describe('LineSplitter', () => {
  it('gives the same lines for any way of cutting the bytes', () => {
    const log = bytes('one\r\n\x1b[31mtwo 漢字\n\n🙂 three\x1b[0m\nlast');
    const whole = new LineSplitter();
    const expected = [...whole.push(log), ...whole.end()];
    expect(texts(expected)).toEqual(['one\r', '\x1b[31mtwo 漢字', '', '🙂 three\x1b[0m', 'last']);
    for (let size = 1; size <= 7; size++) {
      const splitter = new LineSplitter();
      const lines = [];
      for (let at = 0; at < log.length; at += size) lines.push(...splitter.push(log.subarray(at, at + size)));
      expect([...lines, ...splitter.end()]).toEqual(expected);
    }
  });

  it('remembers the style that a line begins with', () => {
    const lines = new LineSplitter().push(bytes('\x1b[1;32mgreen\nstill\x1b[0m\nplain\n'));
    expect(lines.map((line) => line.style)).toEqual([{}, { bold: true, fg: 2 }, {}]);
  });

  it('keeps an open sequence from eating the lines behind it', () => {
    const lines = new LineSplitter().push(bytes('\x1b]8;;http://x\n\x1b[31mred\nred\n'));
    expect(lines[2]?.style).toEqual({ fg: 1 });
  });

  it('knows a line that ends its own styles from one that only looks like it', () => {
    const styleBehind = (line: string): unknown => {
      const splitter = new LineSplitter();
      splitter.push(bytes(`\x1b[31mred\n${line}\n`));
      return splitter.push(bytes('next\n'))[0]?.style;
    };
    expect(styleBehind('\x1b[1mbold\x1b[0m plain')).toEqual({});
    expect(styleBehind('\x1b[m')).toEqual({});
    expect(styleBehind('[0m is text')).toEqual({ fg: 1 });
    expect(styleBehind('\x1b[0m\x1b[32mgreen')).toEqual({ fg: 2 });
  });

  it('shows the line that has not ended yet', () => {
    const splitter = new LineSplitter();
    splitter.push(bytes('done\nhalf'));
    expect(splitter.open()?.text).toBe('half');
    expect(texts(splitter.push(bytes(' way\n')))).toEqual(['half way']);
    expect(splitter.open()).toBeNull();
  });

  it('parts a line without an end, and holds no more than one part of it', () => {
    const splitter = new LineSplitter();
    const lines = splitter.push(bytes('x'.repeat(longestLine * 2 + 5)));
    expect(lines.map((line) => line.text.length)).toEqual([longestLine, longestLine]);
    expect(splitter.open()?.text).toBe('xxxxx');
  });
});
