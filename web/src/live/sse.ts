/** Message is one server-sent event. */
export interface Message {
  /** The last id seen so far; empty: none yet. */
  id: string;
  event: string;
  data: string;
}

/** SseParser turns chunks of text into messages. A chunk may end anywhere. */
export class SseParser {
  private rest = '';
  private id = '';
  private event = '';
  private data: string[] = [];
  private begun = false;

  /** push appends the next chunk and returns the messages that are now complete. */
  push(chunk: string): Message[] {
    let text = this.rest + chunk;
    if (!this.begun && text.length > 0) {
      this.begun = true;
      if (text.charCodeAt(0) === 0xfeff) text = text.slice(1);
    }
    const messages: Message[] = [];
    let from = 0;
    for (;;) {
      const end = lineEnd(text, from);
      if (!end) break;
      const message = this.line(text.slice(from, end.at));
      if (message) messages.push(message);
      from = end.next;
    }
    this.rest = text.slice(from);
    return messages;
  }

  private line(line: string): Message | null {
    if (line === '') return this.dispatch();
    const colon = line.indexOf(':');
    if (colon === 0) return null; // a comment
    const field = colon < 0 ? line : line.slice(0, colon);
    let value = colon < 0 ? '' : line.slice(colon + 1);
    if (value.startsWith(' ')) value = value.slice(1);
    if (field === 'data') this.data.push(value);
    else if (field === 'event') this.event = value;
    else if (field === 'id' && !value.includes('\0')) this.id = value;
    return null;
  }

  private dispatch(): Message | null {
    const { data, event } = this;
    this.data = [];
    this.event = '';
    if (data.length === 0) return null;
    return { id: this.id, event: event || 'message', data: data.join('\n') };
  }
}

/**
 * lineEnd finds the end of the next line. A CR at the end of the text may be the first half of a CR LF; then the line
 * is not complete, and the result is null.
 */
function lineEnd(text: string, from: number): { at: number; next: number } | null {
  for (let i = from; i < text.length; i++) {
    const c = text[i];
    if (c === '\n') return { at: i, next: i + 1 };
    if (c === '\r') {
      if (i + 1 === text.length) return null;
      return { at: i, next: text[i + 1] === '\n' ? i + 2 : i + 1 };
    }
  }
  return null;
}
