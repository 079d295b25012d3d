// Characters that are invisible or reorder the text around them: control characters except tabs and line ends, bidi and
// zero-width characters, fillers. The command line shows the same set (package safetext).
const invisible =
  '[\\p{Cc}\\p{Cf}\\u034f\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u2028\\u2029\\u2065\\u2800\\u3164\\ufe00-\\ufe0d\\uffa0\\u{e0000}-\\u{e0fff}]';
const unseen = new RegExp(invisible, 'u');
const every = new RegExp(invisible, 'gu');

// A joiner is part of the text between the parts of an emoji, and between letters of the scripts that join.
const letters = `[${'Arabic Syriac Mongolian Devanagari Bengali Gurmukhi Gujarati Oriya Tamil Telugu Kannada Malayalam Sinhala Khmer Myanmar'
  .split(' ')
  .map((script) => `\\p{Script=${script}}`)
  .join('')}]`;
const emoji = '\\p{Extended_Pictographic}';
const tag = '[\\u{e0020}-\\u{e007f}]';
const joined = new RegExp(
  `(?<=${emoji}|\\ufe0f|[\\u{1f3fb}-\\u{1f3ff}])\\u200d(?=${emoji})|(?<=${letters})[\\u200c\\u200d](?=${letters})|(?<=${emoji}|${tag})${tag}`,
  'uy',
);

/** visible replaces invisible characters: old control characters by a symbol, all others by their number. */
export function visible(text: string): string {
  if (!unseen.test(text)) return text;
  return text.replace(every, (character, at: number) => {
    joined.lastIndex = at;
    return joined.test(text) ? character : spelled(character);
  });
}

function spelled(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  if (character === '\n' || character === '\t' || character === '\r') return character;
  if (code < 0x20) return String.fromCodePoint(0x2400 + code);
  if (code === 0x7f) return '␡';
  return `<U+${code.toString(16).toUpperCase().padStart(4, '0')}>`;
}
