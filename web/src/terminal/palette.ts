// The colours of terminal text in both themes, for the grid and for terminal text in the page.
import type { Color, Style } from './style';

/** Palette has the sixteen colours of a terminal, its background and its foreground. */
export interface Palette {
  background: string;
  foreground: string;
  colors: readonly string[];
}

/** dark and light are the palettes of the two themes. */
export const dark: Palette = {
  background: '#0d0d12',
  foreground: '#dcdce4',
  colors: [
    '#33333f',
    '#f2777a',
    '#7fd1a0',
    '#f0c674',
    '#7aa6f5',
    '#c39af0',
    '#6cc7d1',
    '#c5c5d0',
    '#71717f',
    '#ff9a9c',
    '#9ee6bb',
    '#ffdc97',
    '#9dbfff',
    '#d9b8ff',
    '#93e0e8',
    '#f4f4f8',
  ],
};
export const light: Palette = {
  background: '#ffffff',
  foreground: '#23232b',
  colors: [
    '#23232b',
    '#b3261e',
    '#1a7340',
    '#8a5a00',
    '#2456c4',
    '#7a35b8',
    '#0b6b78',
    '#63636f',
    '#565662',
    '#c8322a',
    '#1f7f49',
    '#946200',
    '#2d62d4',
    '#8a42cc',
    '#0f7684',
    '#3a3a45',
  ],
};

/** rgbOf converts a colour to RGB: an index of the 256-colour palette, or a #rrggbb colour. */
export function rgbOf(color: Color, palette: Palette): [number, number, number] {
  if (typeof color === 'string') return hex(color);
  if (color < 16) return hex(palette.colors[color] ?? palette.foreground);
  if (color >= 232) {
    const grey = 8 + (color - 232) * 10;
    return [grey, grey, grey];
  }
  const cube = (step: number): number => (step === 0 ? 0 : 55 + step * 40);
  const n = color - 16;
  return [cube(Math.floor(n / 36)), cube(Math.floor(n / 6) % 6), cube(n % 6)];
}

function hex(text: string): [number, number, number] {
  const n = Number.parseInt(text.slice(1), 16);
  return [n >> 16, (n >> 8) & 255, n & 255];
}

/** The minimal contrast. Text below it is made lighter or darker. */
const leastContrast = 4.5;

type Rgb = [number, number, number];

function luminance(rgb: Rgb): number {
  const [r, g, b] = rgb.map((value) => {
    const part = value / 255;
    return part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  }) as Rgb;
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

/** contrast returns the contrast ratio of two colours, from 1 to 21. */
export function contrast(a: Rgb, b: Rgb): number {
  const [high, low] = [luminance(a), luminance(b)].sort((x, y) => y - x) as [number, number];
  return (high + 0.05) / (low + 0.05);
}

/** readable moves a colour towards white or black until it has enough contrast with a background. */
export function readable(color: Rgb, ground: Rgb): Rgb {
  const goal = luminance(ground) < 0.18 ? 255 : 0;
  let now = color;
  for (let i = 0; i < 20 && contrast(now, ground) < leastContrast; i++) {
    now = now.map((value) => Math.round(value + (goal - value) * 0.15)) as Rgb;
  }
  return now;
}

const css = (rgb: Rgb): string => `rgb(${rgb.join(' ')})`;

/** Look has the colours of a style as CSS. */
export interface Look {
  color?: string;
  backgroundColor?: string;
}

/** lookOf returns the colours of a style, always with enough contrast. Empty: the default colours. */
export function lookOf(style: Style, palette: Palette): Look {
  let { fg, bg } = style;
  if (style.inverse) [fg, bg] = [bg ?? palette.background, fg ?? palette.foreground];
  if (fg === undefined && bg === undefined && !style.dim) return {};
  const ground = rgbOf(bg ?? palette.background, palette);
  let ink = rgbOf(fg ?? palette.foreground, palette);
  if (style.dim) ink = ink.map((value, i) => Math.round(value * 0.65 + (ground[i] as number) * 0.35)) as Rgb;
  const look: Look = { color: css(readable(ink, ground)) };
  if (bg !== undefined) look.backgroundColor = css(ground);
  return look;
}
