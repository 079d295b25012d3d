// Converts terminal output into text with styles. An agent's output is hostile input: of all escape sequences only SGR
// (colours and attributes) has an effect. Links, titles, cursor moves and unknown sequences are dropped, and no output
// ever becomes markup.
import { plain, type Style, sameStyle, withSgr } from './style';

/** Segment is text of one style. */
export interface Segment {
  text: string;
  style: Style;
}

/** The maximal length of a sequence, in characters. A longer one is dropped, and what follows is text again. */
const longest = 4096;

type State = 'text' | 'escape' | 'charset' | 'csi' | 'string' | 'string-escape';

/** AnsiParser turns chunks of output into segments. A chunk may end anywhere. A newline ends any open sequence. */
export class AnsiParser {
  private state: State = 'text';
  private params = '';
  private length = 0;

  constructor(public style: Style = plain) {}

  /** push parses the next chunk and returns its visible text. */
  push(chunk: string): Segment[] {
    const out: Segment[] = [];
    let from = -1;
    const flush = (to: number): void => {
      if (from >= 0 && to > from) add(out, chunk.slice(from, to), this.style);
      from = -1;
    };
    for (let i = 0; i < chunk.length; i++) {
      const code = chunk.charCodeAt(i);
      if (this.state === 'text') {
        if (code >= 0x20 && code < 0x7f) {
          if (from < 0) from = i;
        } else if (code === 0x09 || code === 0x0a || code === 0x0d || code > 0x9f) {
          if (from < 0) from = i;
        } else {
          flush(i);
          this.begin(code);
        }
        continue;
      }
      if (code === 0x0a || code === 0x0d) {
        this.state = 'text';
        from = i;
      } else this.sequence(code, chunk[i] as string);
    }
    flush(chunk.length);
    return out;
  }

  /** begin handles a control character that is not white space. */
  private begin(code: number): void {
    this.params = '';
    this.length = 0;
    if (code === 0x1b) this.state = 'escape';
    else if (code === 0x9b) this.state = 'csi';
    else if (code === 0x9d || code === 0x90 || code === 0x98 || code === 0x9e || code === 0x9f)
      this.state = 'string';
  }

  /** sequence handles a character inside an escape sequence. */
  private sequence(code: number, char: string): void {
    if (code === 0x18 || code === 0x1a || ++this.length > longest) {
      this.state = 'text';
      return;
    }
    switch (this.state) {
      case 'escape':
        if (char === '[') this.state = 'csi';
        else if (char === ']' || char === 'P' || char === 'X' || char === '^' || char === '_')
          this.state = 'string';
        else if (code >= 0x20 && code <= 0x2f) this.state = 'charset';
        else if (code !== 0x1b) this.state = 'text';
        return;
      case 'charset':
        if (code > 0x2f) this.state = 'text';
        return;
      case 'csi':
        if (code === 0x1b) this.begin(code);
        else if (code >= 0x40 && code <= 0x7e) {
          if (char === 'm' && /^[\d;:]*$/.test(this.params)) this.style = withSgr(this.style, this.params);
          this.state = 'text';
        } else this.params += char;
        return;
      case 'string':
        if (code === 0x07 || code === 0x9c) this.state = 'text';
        else if (code === 0x1b) this.state = 'string-escape';
        return;
      case 'string-escape':
        if (char === '\\') this.state = 'text';
        else {
          this.begin(0x1b);
          this.sequence(code, char);
        }
        return;
    }
  }
}

/** add appends text: to the last segment if it has the same style, else as a new segment. */
function add(out: Segment[], text: string, style: Style): void {
  const last = out.at(-1);
  if (last && sameStyle(last.style, style)) last.text += text;
  else out.push({ text, style });
}

/** parse converts a whole text into segments. */
export function parse(text: string, style: Style = plain): Segment[] {
  return new AnsiParser(style).push(text);
}

/** parseLine converts a line as it finally looks: text that a carriage return overwrites is left out. */
export function parseLine(line: string, style: Style = plain): Segment[] {
  const segments = parse(line.replace(/\r+$/, ''), style);
  if (!line.includes('\r')) return segments;
  const out: Segment[] = [];
  for (const { text, style: own } of segments) {
    const back = text.lastIndexOf('\r');
    if (back >= 0) out.length = 0;
    const rest = text.slice(back + 1);
    if (rest) out.push({ text: rest, style: own });
  }
  return out;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what they look for
const simpleSequences = /\x1b\[[\d;:]*[A-Za-z]|\r+$/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: likewise
const controls = /[\x00-\x08\x0b-\x1f\x7f-\x9f]/;

/** textOf returns the visible text of a line, for searching. */
export function textOf(line: string): string {
  if (!controls.test(line)) return line;
  const text = line.replace(simpleSequences, '');
  if (!controls.test(text)) return text;
  return parseLine(line)
    .map((segment) => segment.text)
    .join('');
}
