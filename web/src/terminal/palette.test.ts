import { describe, expect, it } from 'vitest';
import { contrast, dark, light, lookOf, rgbOf } from './palette';
import { piecesOf } from './visible';

const numbers = (css: string): [number, number, number] =>
  css.match(/\d+/g)?.map(Number) as [number, number, number];

describe('lookOf', () => {
  it.each([
    ['dark', dark],
    ['light', light],
  ] as const)('can always be read on the %s ground', (_, palette) => {
    for (let fg = 0; fg < 256; fg++) {
      for (const bg of [undefined, 0, 7, 15, 124]) {
        const look = lookOf({ fg, bg }, palette);
        const ground = look.backgroundColor
          ? numbers(look.backgroundColor)
          : rgbOf(palette.background, palette);
        expect(contrast(numbers(look.color ?? ''), ground), `${fg} on ${bg}`).toBeGreaterThanOrEqual(4.5);
      }
    }
  });

  it('swaps ink and ground when inverse', () => {
    expect(lookOf({ inverse: true }, dark).backgroundColor).toBe('rgb(220 220 228)');
  });

  it('says nothing about plain text', () => {
    expect(lookOf({ bold: true }, dark)).toEqual({});
  });
});

describe('piecesOf', () => {
  it('shows characters that reorder or hide', () => {
    expect(piecesOf('safe\u202etxt.exe')).toEqual([
      { text: 'safe' },
      { text: 'U+202E', hidden: 'right-to-left override' },
      { text: 'txt.exe' },
    ]);
  });

  it('leaves other text in one piece', () => {
    expect(piecesOf('שלום 漢字 👩‍💻')).toEqual([{ text: 'שלום 漢字 👩‍💻' }]);
  });
});
