import { afterEach, describe, expect, it, vi } from 'vitest';
import { Highlighter } from './highlight';
import { languageOf } from './languages';
import { linesOf } from './tokens';

afterEach(() => vi.useRealTimers());

describe('reading code', () => {
  it('reads markup into lines, with what it escapes', () => {
    expect(
      linesOf('<span class="hljs-keyword">if</span> a &lt; b\n<span class="hljs-string">&quot;x'),
    ).toEqual([
      [
        { kind: 'keyword', text: 'if' },
        { kind: null, text: ' a < b' },
      ],
      [{ kind: 'string', text: '"x' }],
    ]);
    // Code that looks like markup is text: it is unescaped once, not twice.
    expect(linesOf('&lt;img&gt; &amp;lt;')).toEqual([[{ kind: null, text: '<img> &lt;' }]]);
  });

  it('keeps the kind over lines and goes back to the outer one', () => {
    const [first, second] = linesOf(
      '<span class="hljs-comment">/* a\n<span class="hljs-doctag">@b</span> c</span>',
    );
    expect(first).toEqual([{ kind: 'comment', text: '/* a' }]);
    expect(second?.map(({ kind }) => kind)).toEqual(['doctag', 'comment']);
  });

  it('tells the language by the name', () => {
    expect(['a/b.GO', 'Dockerfile', 'x.test.tsx', 'go', 'a.unknown', 'LICENSE'].map(languageOf)).toEqual([
      'go',
      'dockerfile',
      'typescript',
      null,
      null,
      null,
    ]);
  });

  it('ends a reader that takes too long, and reads the next file with another one', async () => {
    vi.useFakeTimers();
    let opened = 0;
    const ended = vi.fn();
    const readers = new Highlighter(() => {
      const answers = opened++ > 0;
      const reader = {
        onmessage: null as ((event: MessageEvent) => void) | null,
        onerror: null,
        postMessage(): void {
          if (answers) reader.onmessage?.({ data: [[[{ kind: null, text: 'ok' }]]] } as MessageEvent);
        },
        terminate: ended,
      };
      return reader as unknown as Worker;
    });
    const stuck = readers.read({ language: 'go', blocks: ['a'] });
    const next = readers.read({ language: 'go', blocks: ['b'] });
    await vi.advanceTimersByTimeAsync(3_000);
    expect(await stuck).toBeNull();
    expect(ended).toHaveBeenCalledOnce();
    expect(await next).toEqual([[[{ kind: null, text: 'ok' }]]]);
    expect(opened).toBe(2);
  });
});
