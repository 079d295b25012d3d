import { AnsiParser } from './ansi';
import { plain, type Style } from './style';

/** Line is a line of a log with the style that the text before it left behind. */
export interface Line {
  text: string;
  style: Style;
}

/** The longest line in characters; a longer one goes on in the next. */
export const longestLine = 1 << 20;

// biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences are what it looks for
const onlyStyles = /^[^\x1b\x80-\x9f]*(?:\x1b\[[\d;:]*m[^\x1b\x80-\x9f]*)*$/;

/** endsPlain says, quicker than a parser, that a line has no sequences but styles and ends without one. */
function endsPlain(text: string): boolean {
  const last = text.lastIndexOf('\x1b');
  const reset = text.startsWith('[0m', last + 1) || text.startsWith('[m', last + 1);
  return last >= 0 && reset && onlyStyles.test(text);
}

/** LineSplitter turns chunks of bytes, cut anywhere, into lines. */
export class LineSplitter {
  private readonly decoder = new TextDecoder();
  private readonly parser = new AnsiParser();
  private rest = '';

  /** push takes the next bytes and returns the lines that they complete. */
  push(bytes: Uint8Array): Line[] {
    return this.take(this.decoder.decode(bytes, { stream: true }));
  }

  /** end returns what stands after the last newline, if anything does. */
  end(): Line[] {
    const lines = this.take(this.decoder.decode());
    if (this.rest !== '') lines.push(this.line(this.rest));
    this.rest = '';
    return lines;
  }

  /** open is the line that has not ended yet; null: there is none. */
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
      this.parser.push('\n'); // a sequence does not go on after the end of its line
    }
    return { text, style: Object.keys(style).length === 0 ? plain : style };
  }
}
