import { describe, expect, it } from 'vitest';
import { parseMarkdown, safeHref } from './markdown';

const text = (value: string) => ({ type: 'text', text: value });

describe('parseMarkdown', () => {
  it('reads headings, paragraphs and rules', () => {
    expect(parseMarkdown('# One #\n\ntwo\nthree\n\n---')).toEqual([
      { type: 'heading', level: 1, children: [text('One')] },
      { type: 'paragraph', children: [text('two'), text(' '), text('three')] },
      { type: 'rule' },
    ]);
  });

  it('reads emphasis, code and links inside each other', () => {
    expect(parseMarkdown('**a *b* `c*d`** [e **f**](https://x.y/z) snake_case_name')).toEqual([
      {
        type: 'paragraph',
        children: [
          {
            type: 'strong',
            children: [
              text('a '),
              { type: 'emphasis', children: [text('b')] },
              text(' '),
              { type: 'code', text: 'c*d' },
            ],
          },
          text(' '),
          {
            type: 'link',
            href: 'https://x.y/z',
            children: [text('e '), { type: 'strong', children: [text('f')] }],
          },
          text(' snake_case_name'),
        ],
      },
    ]);
  });

  it('leaves links that run scripts as text', () => {
    for (const href of [
      'javascript:alert(1)',
      'JaVaScRiPt:alert(1)',
      'data:text/html,x',
      '//evil.example',
      '/\\evil.example',
      'vbscript:x',
    ]) {
      expect(safeHref(href)).toBe(false);
      expect(JSON.stringify(parseMarkdown(`[x](${href})`))).not.toContain('"link"');
    }
    expect(parseMarkdown('<script>alert(1)</script>')).toEqual([
      { type: 'paragraph', children: [text('<script>alert(1)</script>')] },
    ]);
  });

  it('links bare addresses without the full stop behind them', () => {
    expect(parseMarkdown('See https://a.b/c.')).toEqual([
      {
        type: 'paragraph',
        children: [
          text('See '),
          { type: 'link', href: 'https://a.b/c', children: [text('https://a.b/c')] },
          text('.'),
        ],
      },
    ]);
  });

  it('keeps code blocks as they are, also unclosed ones', () => {
    expect(parseMarkdown('```go\nif a < b {\n\n  # no heading\n}\n```\nafter')[0]).toEqual({
      type: 'code',
      language: 'go',
      text: 'if a < b {\n\n  # no heading\n}',
    });
    expect(parseMarkdown('~~~\nopen')).toEqual([{ type: 'code', language: '', text: 'open' }]);
  });

  it('reads nested and task lists', () => {
    const [list] = parseMarkdown('- [x] done\n- [ ] open\n  - inner\n\n3. three\n4. four');
    expect(list).toMatchObject({
      type: 'list',
      ordered: false,
      items: [{ done: true }, { done: false, children: [{ type: 'paragraph' }, { type: 'list' }] }],
    });
    expect(parseMarkdown('3. three\n4. four')).toMatchObject([{ ordered: true, start: 3, items: [{}, {}] }]);
  });

  it('reads tables, with bars inside a cell and cells that are missing', () => {
    const text = (words: string) => [{ type: 'text', text: words }];
    expect(parseMarkdown('Before\n| Name | Count |\n|:---|---:|\n| a \\| b | 1 |\n| c |\nAfter')).toEqual([
      { type: 'paragraph', children: text('Before') },
      {
        type: 'table',
        align: ['left', 'right'],
        head: [text('Name'), text('Count')],
        rows: [
          [text('a | b'), text('1')],
          [text('c'), []],
        ],
      },
      { type: 'paragraph', children: text('After') },
    ]);
    // Without a line of dashes, or with a different number of columns, it is not a table.
    for (const plain of ['a | b', 'a | b\n|---|---|---|'])
      expect(parseMarkdown(plain)[0]).toMatchObject({ type: 'paragraph' });
  });

  it('ends on any text, quickly', () => {
    const hostile = [
      '*'.repeat(5000),
      '['.repeat(5000),
      '`'.repeat(4999),
      '> '.repeat(2000),
      '- '.repeat(2000),
      `${'_a'.repeat(3000)}`,
      '**a '.repeat(2000),
      '[a]('.repeat(2000),
    ];
    const begun = performance.now();
    for (const each of hostile) expect(() => parseMarkdown(each)).not.toThrow();
    expect(performance.now() - begun).toBeLessThan(3000);
  });
});
