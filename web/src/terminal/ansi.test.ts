import { describe, expect, it } from 'vitest';
import { AnsiParser, parse, parseLine, type Segment, textOf } from './ansi';
import { type Style, sgrOf, withSgr } from './style';

const esc = '\x1b';

/** merged joins adjacent segments of one style, so that the results of two ways of chunking can be compared. */
function merged(segments: Segment[]): [string, string][] {
  const out: [string, string][] = [];
  for (const { text, style } of segments) {
    const look = sgrOf(style);
    const last = out.at(-1);
    if (last && last[1] === look) last[0] += text;
    else out.push([text, look]);
  }
  return out;
}

/** random returns a generator of numbers in [0, 1). A seed always yields the same sequence. */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1664525 + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

const alphabet = [
  esc,
  '[',
  ']',
  '8',
  ';',
  ':',
  '0',
  '1',
  '3',
  '4',
  '5',
  'm',
  'K',
  'H',
  '?',
  'h',
  '\x07',
  '\\',
  'P',
  '_',
  '(',
  'B',
  '\n',
  '\r',
  '\t',
  'a',
  'é',
  '漢',
  '🙂',
  '\x9b',
  '\x9d',
  '\x9c',
  '\x18',
  '<script>',
  '\u202e',
  '\0',
  '\x7f',
];
const noise = (next: () => number, length: number): string =>
  Array.from({ length }, () => alphabet[Math.floor(next() * alphabet.length)]).join('');

describe('AnsiParser', () => {
  it('reads colours and attributes, and takes them back', () => {
    expect(parse(`${esc}[1;31mred${esc}[22m thin${esc}[39m plain`)).toEqual([
      { text: 'red', style: { bold: true, fg: 1 } },
      { text: ' thin', style: { fg: 1 } },
      { text: ' plain', style: {} },
    ]);
  });

  it.each([
    ['38;5;208', { fg: 208 }],
    ['48;5;17', { bg: 17 }],
    ['38;2;255;128;0', { fg: '#ff8000' }],
    ['38:2::255:128:0', { fg: '#ff8000' }],
    ['38:5:9', { fg: 9 }],
    ['58;5;3;1', { bold: true }],
    ['4:3', { underline: true }],
    ['97;107', { fg: 15, bg: 15 }],
    ['38;5;999', { fg: 255 }],
    ['38;9;1', { bold: true }],
  ] as [string, Style][])('reads SGR %s', (params, style) => {
    expect(withSgr({}, params)).toEqual(style);
  });

  it('gives a style back that reads as itself', () => {
    const style: Style = { fg: '#0a0b0c', bg: 200, bold: true, inverse: true, strike: true };
    expect(withSgr({ dim: true, italic: true }, sgrOf(style).slice(2, -1))).toEqual(style);
  });

  it('drops links, titles, device control strings and cursor moves', () => {
    const link = `${esc}]8;;https://evil.example${esc}\\click${esc}]8;;\x07`;
    expect(
      textOf(`${link} ${esc}]0;title\x07${esc}Pq#0${esc}\\${esc}[2J${esc}[10;10H${esc}(Bok${esc}[?25l`),
    ).toBe('click ok');
  });

  it('keeps markup as text', () => {
    expect(parse('<img src=x onerror=alert(1)>')).toEqual([
      { text: '<img src=x onerror=alert(1)>', style: {} },
    ]);
  });

  it('shows what follows a sequence that never ends', () => {
    expect(textOf(`${esc}]8;;http://x\nvisible`)).toBe('\nvisible');
    expect(
      parse(`${esc}]${'x'.repeat(10_000)}`)
        .map((s) => s.text)
        .join('').length,
    ).toBeGreaterThan(5000);
  });

  it('gives the same for any way of cutting the text into chunks', () => {
    for (let seed = 1; seed <= 400; seed++) {
      const next = random(seed);
      const text = noise(next, 60);
      const parser = new AnsiParser();
      const pieces: Segment[] = [];
      for (let at = 0; at < text.length; ) {
        const size = 1 + Math.floor(next() * 5);
        pieces.push(...parser.push(text.slice(at, at + size)));
        at += size;
      }
      expect(merged(pieces), JSON.stringify(text)).toEqual(merged(parse(text)));
    }
  });

  it('lets no control character through but white space', () => {
    for (let seed = 1; seed <= 400; seed++) {
      const text = parse(noise(random(seed), 80))
        .map((segment) => segment.text)
        .join('');
      // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
      expect(text).not.toMatch(/[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]/);
    }
  });
});

describe('parseLine', () => {
  it('shows what stands after the last carriage return', () => {
    expect(parseLine('10%\r50%\r\x1b[32m100%\r')).toEqual([{ text: '100%', style: { fg: 2 } }]);
  });

  it('begins in the style that the lines before left', () => {
    expect(parseLine('on', { bold: true })).toEqual([{ text: 'on', style: { bold: true } }]);
  });
});
