// Characters that are invisible or change how their neighbours look are shown by their number: a reversed file name must
// not look like another one.
const names: Record<string, string> = {
  '\u061c': 'Arabic letter mark',
  '\u200b': 'zero width space',
  '\u200e': 'left-to-right mark',
  '\u200f': 'right-to-left mark',
  '\u202a': 'left-to-right embedding',
  '\u202b': 'right-to-left embedding',
  '\u202c': 'pop directional formatting',
  '\u202d': 'left-to-right override',
  '\u202e': 'right-to-left override',
  '\u2060': 'word joiner',
  '\u2066': 'left-to-right isolate',
  '\u2067': 'right-to-left isolate',
  '\u2068': 'first strong isolate',
  '\u2069': 'pop directional isolate',
  '\ufeff': 'zero width no-break space',
};
const hidden = new RegExp(`([${Object.keys(names).join('')}])`, 'u');

/** Piece is a text, or one hidden character with its name. */
export interface Piece {
  text: string;
  hidden?: string;
}

/** piecesOf splits a text at its hidden characters. */
export function piecesOf(text: string): Piece[] {
  if (!hidden.test(text)) return [{ text }];
  return text
    .split(hidden)
    .filter((part) => part !== '')
    .map((part) => {
      const name = names[part];
      return name
        ? { text: `U+${part.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}`, hidden: name }
        : { text: part };
    });
}
