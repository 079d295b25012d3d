// A small Markdown parser. It returns a tree of plain values and never HTML, so nothing needs escaping. Syntax that it
// does not support stays text.

/** Inline is a piece of text within a block. */
export type Inline =
  | { type: 'text'; text: string }
  | { type: 'code'; text: string }
  | { type: 'strong' | 'emphasis' | 'strike'; children: Inline[] }
  | { type: 'link'; href: string; children: Inline[] }
  | { type: 'break' };

/** ListItem is one item of a list. done is null if it is not a task. */
export interface ListItem {
  done: boolean | null;
  children: Block[];
}

/** Align is the alignment of a table's column; null: the default. */
export type Align = 'left' | 'center' | 'right' | null;

/** Block is a paragraph or another block element. */
export type Block =
  | { type: 'heading'; level: number; children: Inline[] }
  | { type: 'paragraph'; children: Inline[] }
  | { type: 'code'; language: string; text: string }
  | { type: 'quote'; children: Block[] }
  | { type: 'list'; ordered: boolean; start: number; items: ListItem[] }
  | { type: 'table'; align: Align[]; head: Inline[][]; rows: Inline[][][] }
  | { type: 'rule' };

/** How deep lists and quotes may nest. Deeper ones stay text. */
const deepest = 12;

/** parseMarkdown parses a text. */
export function parseMarkdown(text: string): Block[] {
  return blocks(text.replace(/\r\n?/g, '\n').split('\n'), 0);
}

const fence = /^ {0,3}(`{3,}|~{3,})\s*([^\s`]*)/;
const heading = /^ {0,3}(#{1,6})\s+(.*?)\s*#*$/;
const rule = /^ {0,3}([-*_])(\s*\1){2,}\s*$/;
const quote = /^ {0,3}> ?/;
const marker = /^( {0,3})([-*+]|\d{1,9}[.)])( +|$)/;

function blocks(lines: string[], depth: number): Block[] {
  const out: Block[] = [];
  let i = 0;
  while (i < lines.length) {
    const line = lines[i] as string;
    if (line.trim() === '') {
      i++;
      continue;
    }
    const opened = fence.exec(line);
    if (opened) {
      const close = new RegExp(`^ {0,3}${(opened[1] as string)[0]}{${(opened[1] as string).length},}\\s*$`);
      let end = i + 1;
      while (end < lines.length && !close.test(lines[end] as string)) end++;
      out.push({ type: 'code', language: opened[2] ?? '', text: lines.slice(i + 1, end).join('\n') });
      i = end + 1;
      continue;
    }
    const titled = heading.exec(line);
    if (titled) {
      out.push({
        type: 'heading',
        level: (titled[1] as string).length,
        children: inlines(titled[2] as string),
      });
      i++;
      continue;
    }
    if (rule.test(line)) {
      out.push({ type: 'rule' });
      i++;
      continue;
    }
    if (depth < deepest && quote.test(line)) {
      let end = i;
      while (end < lines.length && quote.test(lines[end] as string)) end++;
      out.push({
        type: 'quote',
        children: blocks(
          lines.slice(i, end).map((each) => each.replace(quote, '')),
          depth + 1,
        ),
      });
      i = end;
      continue;
    }
    if (depth < deepest && marker.test(line)) {
      const [list, next] = readList(lines, i, depth);
      out.push(list);
      i = next;
      continue;
    }
    const [table, next] = readTable(lines, i);
    if (table) {
      out.push(table);
      i = next;
      continue;
    }
    let end = i + 1;
    while (
      end < lines.length &&
      !interrupts(lines[end] as string, depth) &&
      !(divider.test(lines[end + 1] ?? '') && (lines[end] as string).includes('|'))
    )
      end++;
    out.push({ type: 'paragraph', children: paragraph(lines.slice(i, end)) });
    i = end;
  }
  return out;
}

const divider = /^ {0,3}\|?(\s*:?-+:?\s*\|)+(\s*:?-+:?\s*)?$/;

/** cells returns the texts between the bars of a table's line. An escaped bar (\|) does not separate cells. */
const cells = (line: string): string[] =>
  line
    .trim()
    .replace(/^\|/, '')
    .replace(/(?<!\\)\|$/, '')
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim().replaceAll('\\|', '|'));

const alignOf = (cell: string): Align => {
  const [left, right] = [cell.startsWith(':'), cell.endsWith(':')];
  return left && right ? 'center' : right ? 'right' : left ? 'left' : null;
};

/**
 * readTable parses a table: a line of titles, a line of dashes with as many columns, and the rows up to an empty line.
 */
function readTable(lines: string[], from: number): [Block | null, number] {
  const [first, dashes] = [lines[from] as string, lines[from + 1] ?? ''];
  if (!first.includes('|') || !divider.test(dashes)) return [null, from];
  const head = cells(first);
  const align = cells(dashes).map(alignOf);
  if (head.length !== align.length) return [null, from];
  const rows: Inline[][][] = [];
  let i = from + 2;
  for (; i < lines.length && (lines[i] as string).includes('|'); i++) {
    const found = cells(lines[i] as string);
    rows.push(head.map((_, column) => inlines(found[column] ?? '')));
  }
  return [{ type: 'table', align, head: head.map(inlines), rows }, i];
}

const interrupts = (line: string, depth: number): boolean =>
  line.trim() === '' ||
  fence.test(line) ||
  heading.test(line) ||
  rule.test(line) ||
  (depth < deepest && (quote.test(line) || marker.test(line)));

function readList(lines: string[], from: number, depth: number): [Block, number] {
  const first = marker.exec(lines[from] as string) as RegExpExecArray;
  const ordered = /\d/.test(first[2] as string);
  const items: ListItem[] = [];
  let i = from;
  while (i < lines.length) {
    const found = marker.exec(lines[i] as string);
    if (!found || /\d/.test(found[2] as string) !== ordered || rule.test(lines[i] as string)) break;
    const indent = found[0].length || 2;
    const own = [(lines[i] as string).slice(found[0].length)];
    i++;
    while (i < lines.length) {
      const line = lines[i] as string;
      const inside = line.length - line.trimStart().length >= Math.min(indent, 2) && line.trim() !== '';
      const gap = line.trim() === '' && /^ {2,}\S/.test(lines[i + 1] ?? '');
      if (!inside && !gap) break;
      own.push(line.slice(Math.min(indent, line.length - line.trimStart().length)));
      i++;
    }
    const task = /^\[([ xX])\] +/.exec(own[0] as string);
    if (task) own[0] = (own[0] as string).slice(task[0].length);
    items.push({ done: task ? task[1] !== ' ' : null, children: blocks(own, depth + 1) });
    while (i + 1 < lines.length && (lines[i] as string).trim() === '' && marker.test(lines[i + 1] as string))
      i++;
  }
  return [{ type: 'list', ordered, start: ordered ? Number.parseInt(first[2] as string, 10) : 1, items }, i];
}

function paragraph(lines: string[]): Inline[] {
  return lines.flatMap((line, i) => {
    const last = i === lines.length - 1;
    const hard = !last && / {2,}$|\\$/.test(line);
    const children = inlines(line.trim().replace(/\\$/, ''));
    if (last) return children;
    return [...children, hard ? { type: 'break' as const } : { type: 'text' as const, text: ' ' }];
  });
}

const patterns: [RegExp, (found: RegExpExecArray) => Inline | null][] = [
  [/\\([\\`*_{}[\]()#+\-.!~>|])/y, (m) => ({ type: 'text', text: m[1] as string })],
  [
    /(`+)([^`]|[^`][\s\S]*?[^`])\1(?!`)/y,
    (m) => ({ type: 'code', text: (m[2] as string).replace(/^ (.*) $/, '$1') }),
  ],
  [
    /\[([^[\]]{1,500})\]\((\S{1,2000}?)(?:\s+"[^"]*")?\)/y,
    (m) => link(m[2] as string, inlines(m[1] as string)),
  ],
  [/<(https?:\/\/[^\s<>]{1,2000})>/y, (m) => link(m[1] as string, [{ type: 'text', text: m[1] as string }])],
  [/https?:\/\/[^\s<>"'`]{1,2000}[^\s<>"'`.,;:!?)\]*_~]/y, (m) => link(m[0], [{ type: 'text', text: m[0] }])],
  [/\*\*(?=\S)([\s\S]{0,2000}?\S)\*\*/y, (m) => ({ type: 'strong', children: inlines(m[1] as string) })],
  [/__(?=\S)([\s\S]{0,2000}?\S)__(?!\w)/y, (m) => ({ type: 'strong', children: inlines(m[1] as string) })],
  [/~~(?=\S)([\s\S]{0,2000}?\S)~~/y, (m) => ({ type: 'strike', children: inlines(m[1] as string) })],
  [
    /\*(?=[^\s*])([^*]{0,2000}?[^\s*])\*(?!\*)/y,
    (m) => ({ type: 'emphasis', children: inlines(m[1] as string) }),
  ],
  [
    /_(?=[^\s_])([^_]{0,2000}?[^\s_])_(?!\w)/y,
    (m) => ({ type: 'emphasis', children: inlines(m[1] as string) }),
  ],
];

/** inlines parses the inline elements of a text. */
function inlines(text: string): Inline[] {
  const out: Inline[] = [];
  let plain = '';
  let i = 0;
  scan: while (i < text.length) {
    if ('\\`[<h*_~'.includes(text[i] as string)) {
      for (const [pattern, make] of patterns) {
        if (text[i] === '_' && /\w/.test(text[i - 1] ?? '')) break;
        pattern.lastIndex = i;
        const found = pattern.exec(text);
        const made = found && make(found);
        if (!found || !made) continue;
        if (plain) out.push({ type: 'text', text: plain });
        plain = '';
        out.push(made);
        i += found[0].length;
        continue scan;
      }
    }
    plain += text[i++];
  }
  if (plain) out.push({ type: 'text', text: plain });
  return out;
}

function link(href: string, children: Inline[]): Inline | null {
  return safeHref(href) ? { type: 'link', href, children } : null;
}

/** safeHref reports whether a link may be followed: http(s), mailto, or a path or fragment on this page's own server. */
export function safeHref(href: string): boolean {
  return /^(https?:\/\/|mailto:)/i.test(href) || /^\/(?![/\\])/.test(href) || href.startsWith('#');
}
