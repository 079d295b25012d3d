// biome-ignore-all lint/suspicious/noArrayIndexKey: the tree is made anew with the text, so a node's place in it is its identity
import { Square, SquareCheck } from 'lucide-react';
import { Fragment, memo, type ReactNode, useMemo } from 'react';
import { type Align, type Block, type Inline, type ListItem, parseMarkdown } from '@/lib/markdown';

/** Markdown shows a text from any author, also from an agent. It creates React nodes and never HTML. */
export const Markdown = memo(function Markdown({ text }: { text: string }) {
  const tree = useMemo(() => withOutline(parseMarkdown(text)), [text]);
  return <div className="flex flex-col gap-3 text-sm leading-relaxed break-words">{blocks(tree)}</div>;
});

/** withOutline renumbers the heading levels that a text uses, starting at one, so that no level is skipped. */
function withOutline(tree: Block[]): Block[] {
  const levels = [
    ...new Set(tree.flatMap((block) => (block.type === 'heading' ? [block.level] : []))),
  ].sort();
  return tree.map((block) =>
    block.type === 'heading' ? { ...block, level: levels.indexOf(block.level) + 1 } : block,
  );
}

const blocks = (list: Block[]): ReactNode =>
  list.map((block, i) => <Fragment key={i}>{blockOf(block)}</Fragment>);
const inlines = (list: Inline[]): ReactNode =>
  list.map((inline, i) => <Fragment key={i}>{inlineOf(inline)}</Fragment>);

const sides = { left: 'text-left', center: 'text-center', right: 'text-right' };
const cellOf = (align: Align | undefined): string => `border px-2 py-1 align-top ${sides[align ?? 'left']}`;

function blockOf(block: Block): ReactNode {
  switch (block.type) {
    case 'heading': {
      const Tag = `h${Math.min(block.level + 1, 6)}` as 'h2';
      const size = block.level === 1 ? 'text-lg' : block.level === 2 ? 'text-base' : 'text-sm';
      return <Tag className={`${size} mt-1 font-semibold tracking-tight`}>{inlines(block.children)}</Tag>;
    }
    case 'paragraph':
      return <p>{inlines(block.children)}</p>;
    case 'code':
      return (
        <pre className="overflow-x-auto rounded-lg bg-sunken p-3 font-mono text-xs leading-5 ring-1 ring-line ring-inset">
          <code>{block.text}</code>
        </pre>
      );
    case 'quote':
      return (
        <blockquote className="flex flex-col gap-2 border-l-2 border-line-strong pl-3 text-ink-2">
          {blocks(block.children)}
        </blockquote>
      );
    case 'list': {
      const items = block.items.map((item, i) => <Item key={i} item={item} />);
      return block.ordered ? (
        <ol start={block.start} className="flex list-decimal flex-col gap-1 pl-5 marker:text-ink-3">
          {items}
        </ol>
      ) : (
        <ul className="flex list-disc flex-col gap-1 pl-5 marker:text-ink-3">{items}</ul>
      );
    }
    case 'table':
      return (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard must reach it
        <section className="overflow-x-auto" tabIndex={0} aria-label="Table">
          <table className="border-collapse text-sm">
            <thead>
              <tr>
                {block.head.map((cell, i) => (
                  <th key={i} scope="col" className={cellOf(block.align[i])}>
                    {inlines(cell)}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {block.rows.map((row, r) => (
                <tr key={r}>
                  {row.map((cell, i) => (
                    <td key={i} className={cellOf(block.align[i])}>
                      {inlines(cell)}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      );
    case 'rule':
      return <hr />;
  }
}

function Item({ item }: { item: ListItem }) {
  if (item.done === null) return <li className="[&>p]:inline">{blocks(item.children)}</li>;
  const Box = item.done ? SquareCheck : Square;
  return (
    <li className="-ml-5 flex list-none gap-2">
      <Box
        aria-label={item.done ? 'done' : 'open'}
        role="img"
        className={`mt-1 size-3.5 shrink-0 ${item.done ? 'text-ok' : 'text-ink-3'}`}
      />
      <div>{blocks(item.children)}</div>
    </li>
  );
}

function inlineOf(inline: Inline): ReactNode {
  switch (inline.type) {
    case 'text':
      return inline.text;
    case 'code':
      return (
        <code className="rounded bg-sunken px-1 py-0.5 font-mono text-[0.92em] ring-1 ring-line ring-inset">
          {inline.text}
        </code>
      );
    case 'strong':
      return <strong className="font-semibold">{inlines(inline.children)}</strong>;
    case 'emphasis':
      return <em>{inlines(inline.children)}</em>;
    case 'strike':
      return <s className="text-ink-3">{inlines(inline.children)}</s>;
    case 'link':
      return (
        <a
          href={inline.href}
          target="_blank"
          rel="noopener noreferrer"
          className="text-accent underline decoration-accent/40 underline-offset-2 hover:decoration-accent"
        >
          {inlines(inline.children)}
        </a>
      );
    case 'break':
      return <br />;
  }
}
