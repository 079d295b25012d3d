import { describe, expect, it } from 'vitest';
import { SseParser } from './sse';

const all = (chunks: string[]) => {
  const parser = new SseParser();
  return chunks.flatMap((chunk) => parser.push(chunk));
};

describe('SseParser', () => {
  it('reads id, event and data', () => {
    expect(all(['id: 7\nevent: run.started\ndata: {"a":1}\n\n'])).toEqual([
      { id: '7', event: 'run.started', data: '{"a":1}' },
    ]);
  });

  it('gives the same messages wherever the text is cut', () => {
    const text = 'id: 1\r\nevent: a\r\ndata: x\r\n\r\nid: 2\rdata: y\rdata: z\r\r: note\nid: 3\ndata\n\n';
    const whole = all([`${text}\n`]);
    expect(whole).toEqual([
      { id: '1', event: 'a', data: 'x' },
      { id: '2', event: 'message', data: 'y\nz' },
      { id: '3', event: 'message', data: '' },
    ]);
    for (let cut = 1; cut < text.length; cut++) {
      expect(all([text.slice(0, cut), `${text.slice(cut)}\n`])).toEqual(whole);
    }
    expect(all([...`${text}\n`])).toEqual(whole);
  });

  it('keeps the last id for messages without one, and drops what has no data', () => {
    expect(all(['id: 4\ndata: a\n\nevent: lost\n\ndata: b\n\n'])).toEqual([
      { id: '4', event: 'message', data: 'a' },
      { id: '4', event: 'message', data: 'b' },
    ]);
  });

  it('takes off a byte order mark and one space, no more', () => {
    expect(all(['\uFEFFdata:  a\n\n'])).toEqual([{ id: '', event: 'message', data: ' a' }]);
  });

  it('waits for the empty line', () => {
    const parser = new SseParser();
    expect(parser.push('data: a\n')).toEqual([]);
    expect(parser.push('\n')).toHaveLength(1);
  });
});
