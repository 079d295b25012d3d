/** Token is a piece of a line of code. */
export interface Token {
  /** What it is, in highlight.js's words, such as keyword; null: nothing of note. */
  kind: string | null;
  text: string;
}

const pieces = /<span class="([^"]*)">|<\/span>|([^<]+)/g;
const entities: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', '#x27': "'" };
const entity = /&(amp|lt|gt|quot|#x27);/g;

/** linesOf reads the markup that highlight.js makes of code, which has spans and escaped text and nothing else, into lines. */
export function linesOf(markup: string): Token[][] {
  const lines: Token[][] = [[]];
  const kinds: string[] = [];
  for (const [piece, name, text] of markup.matchAll(pieces)) {
    if (name !== undefined) kinds.push(name);
    else if (piece === '</span>') kinds.pop();
    const kind =
      kinds
        .at(-1)
        ?.split(' ')[0]
        ?.replace(/^hljs-|^language-/, '') ?? null;
    text
      ?.replace(entity, (_, which: string) => entities[which] as string)
      .split('\n')
      .forEach((line, index) => {
        if (index > 0) lines.push([]);
        if (line !== '') lines.at(-1)?.push({ kind, text: line });
      });
  }
  return lines;
}
