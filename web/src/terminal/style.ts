/** Color is an index of the 256-colour palette, or an RGB colour as #rrggbb. */
export type Color = number | string;

/** Style is the look of a piece of terminal text. An absent field has the default. */
export interface Style {
  fg?: Color;
  bg?: Color;
  bold?: true;
  dim?: true;
  italic?: true;
  underline?: true;
  inverse?: true;
  hidden?: true;
  strike?: true;
}

/** plain is the style without any attribute. */
export const plain: Style = Object.freeze({});

type Flag = Exclude<keyof Style, 'fg' | 'bg'>;
const on: Record<number, Flag> = {
  1: 'bold',
  2: 'dim',
  3: 'italic',
  4: 'underline',
  7: 'inverse',
  8: 'hidden',
  9: 'strike',
  21: 'underline',
};
const off: Record<number, Flag[]> = {
  22: ['bold', 'dim'],
  23: ['italic'],
  24: ['underline'],
  27: ['inverse'],
  28: ['hidden'],
  29: ['strike'],
};

/** withSgr returns a style after one SGR sequence. params is the text between ESC [ and m. */
export function withSgr(style: Style, params: string): Style {
  const next: Style = { ...style };
  const fields = params.split(';');
  for (let i = 0; i < fields.length; i++) {
    const parts = (fields[i] as string).split(':');
    const code = parts[0] === '' ? 0 : Number(parts[0]);
    if (code === 38 || code === 48 || code === 58) {
      const list = parts.length > 1 ? parts.slice(1) : fields.slice(i + 1, i + 5);
      const { color, used } = colorOf(list, parts.length > 1);
      if (parts.length === 1) i += used;
      if (color !== null && code !== 58) next[code === 38 ? 'fg' : 'bg'] = color;
    } else if (code === 0) for (const key of Object.keys(next) as (keyof Style)[]) delete next[key];
    else if (code === 4 && parts[1] === '0') delete next.underline;
    else if (on[code]) next[on[code]] = true;
    else if (off[code]) for (const flag of off[code]) delete next[flag];
    else if (code >= 30 && code <= 37) next.fg = code - 30;
    else if (code >= 90 && code <= 97) next.fg = code - 82;
    else if (code >= 40 && code <= 47) next.bg = code - 40;
    else if (code >= 100 && code <= 107) next.bg = code - 92;
    else if (code === 39) delete next.fg;
    else if (code === 49) delete next.bg;
  }
  return next;
}

/** colorOf parses 5;n or 2;r;g;b, or their forms with colons, which may have a colour space before r. */
function colorOf(list: string[], colons: boolean): { color: Color | null; used: number } {
  const byte = (text: string | undefined): number => Math.min(255, Math.max(0, Number(text) || 0));
  if (list[0] === '5') return { color: byte(list[1]), used: 2 };
  if (list[0] !== '2') return { color: null, used: 1 };
  const rgb = colons && list.length >= 5 ? list.slice(2, 5) : list.slice(1, 4);
  const hex = [0, 1, 2].map((i) => byte(rgb[i]).toString(16).padStart(2, '0')).join('');
  return { color: `#${hex}`, used: 4 };
}

const codes: [Flag, number][] = [
  ['bold', 1],
  ['dim', 2],
  ['italic', 3],
  ['underline', 4],
  ['inverse', 7],
  ['hidden', 8],
  ['strike', 9],
];

/** sgrOf returns the sequence that sets exactly this style, independent of the style before. */
export function sgrOf(style: Style): string {
  const parts = ['0', ...codes.filter(([flag]) => style[flag]).map(([, code]) => String(code))];
  if (style.fg !== undefined) parts.push(colorCode(style.fg, 38));
  if (style.bg !== undefined) parts.push(colorCode(style.bg, 48));
  return `\x1b[${parts.join(';')}m`;
}

function colorCode(color: Color, base: 38 | 48): string {
  if (typeof color === 'number') return `${base};5;${color}`;
  const part = (from: number): number => Number.parseInt(color.slice(from, from + 2), 16);
  return `${base};2;${part(1)};${part(3)};${part(5)}`;
}

/** sameStyle reports whether two styles are equal. */
export function sameStyle(a: Style, b: Style): boolean {
  return a === b || (a.fg === b.fg && a.bg === b.bg && codes.every(([flag]) => a[flag] === b[flag]));
}
