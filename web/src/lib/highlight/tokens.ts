/** Token is a piece of a line of code. */
export interface Token {
  /** The class that highlight.js assigned, such as keyword; null: none. */
  kind: string | null;
  text: string;
}

const pieces = /<span class="([^"]*)">|<\/span>|([^<]+)/g;
const entities: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', '#x27': "'" };
const entity = /&(amp|lt|gt|quot|#x27);/g;

/** linesOf splits the markup that highlight.js makes of code into lines. That markup has only spans and escaped text. */
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
