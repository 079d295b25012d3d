import { AnsiParser } from './ansi';
import { plain, type Style } from './style';

/** Line is a line of a log and the style in effect at its start. */
export interface Line {
  text: string;
  style: Style;
}

/** The longest line in characters. A longer line is split. */
export const longestLine = 1 << 20;

// biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences are what it looks for
const onlyStyles = /^[^\x1b\x80-\x9f]*(?:\x1b\[[\d;:]*m[^\x1b\x80-\x9f]*)*$/;

/**
 * endsPlain reports whether a line has only SGR sequences, the last of which is a reset. It is faster than the parser.
 * False: only the parser can tell which style the line ends with.
 */
function endsPlain(text: string): boolean {
  const last = text.lastIndexOf('\x1b');
  const reset = text.startsWith('[0m', last + 1) || text.startsWith('[m', last + 1);
  return last >= 0 && reset && onlyStyles.test(text);
}

/** LineSplitter turns chunks of bytes into lines. A chunk may end anywhere. */
export class LineSplitter {
  private readonly decoder = new TextDecoder();
  private readonly parser = new AnsiParser();
  private rest = '';

  /** push appends the next bytes and returns the lines that are now complete. */
  push(bytes: Uint8Array): Line[] {
    return this.take(this.decoder.decode(bytes, { stream: true }));
  }

  /** end returns the text after the last newline, if there is any. */
  end(): Line[] {
    const lines = this.take(this.decoder.decode());
    if (this.rest !== '') lines.push(this.line(this.rest));
    this.rest = '';
    return lines;
  }

  /** open returns the line that has not ended yet. Null: there is none. */
  open(): Line | null {
    return this.rest === '' ? null : { text: this.rest, style: this.parser.style };
  }

  private take(text: string): Line[] {
    const lines: Line[] = [];
    let from = 0;
    for (;;) {
      const end = text.indexOf('\n', from);
      if (end < 0) break;
      this.long(lines, this.rest + text.slice(from, end));
      this.rest = '';
      from = end + 1;
    }
    this.rest += text.slice(from);
    while (this.rest.length > longestLine) {
      lines.push(this.line(this.rest.slice(0, longestLine)));
      this.rest = this.rest.slice(longestLine);
    }
    return lines;
  }

  private long(lines: Line[], text: string): void {
    let left = text;
    while (left.length > longestLine) {
      lines.push(this.line(left.slice(0, longestLine)));
      left = left.slice(longestLine);
    }
    lines.push(this.line(left));
  }

  private line(text: string): Line {
    const style = this.parser.style;
    if (endsPlain(text)) this.parser.style = plain;
    else if (text.includes('\x1b') || text.includes('\x9b')) {
      this.parser.push(text);
      this.parser.push('\n'); // a sequence ends with its line
    }
    return { text, style: Object.keys(style).length === 0 ? plain : style };
  }
}
