import { type CSSProperties, Fragment, memo, type ReactNode } from 'react';
import type { Segment } from './ansi';
import { lookOf, type Palette } from './palette';
import type { Style } from './style';
import { piecesOf } from './visible';

/** AnsiText renders segments as styled spans. Their text is never interpreted as markup. */
export const AnsiText = memo(function AnsiText({
  segments,
  palette,
  find,
}: {
  segments: Segment[];
  palette: Palette;
  find?: string;
}) {
  return segments.map(({ text, style }, i) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: segments have no identity but their place
    <span key={i} style={cssOf(style, palette)}>
      {style.hidden ? ' '.repeat(text.length) : shown(text, find)}
    </span>
  ));
});

function cssOf(style: Style, palette: Palette): CSSProperties | undefined {
  if (Object.keys(style).length === 0) return undefined;
  const lines = [style.underline && 'underline', style.strike && 'line-through'].filter(Boolean).join(' ');
  return {
    ...lookOf(style, palette),
    fontWeight: style.bold ? 600 : undefined,
    fontStyle: style.italic ? 'italic' : undefined,
    textDecoration: lines || undefined,
  };
}

function shown(text: string, find: string | undefined): ReactNode {
  const pieces = piecesOf(text);
  if (pieces.length === 1 && !pieces[0]?.hidden) return marked(text, find);
  return pieces.map((piece, i) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: pieces have no identity but their place
    <Fragment key={i}>
      {piece.hidden ? (
        <abbr title={piece.hidden} className="mx-px rounded px-1 text-[0.8em] no-underline tone-warn">
          {piece.text}
        </abbr>
      ) : (
        marked(piece.text, find)
      )}
    </Fragment>
  ));
}

/** marked highlights the matches of a search in a text. */
function marked(text: string, find: string | undefined): ReactNode {
  if (!find) return text;
  const lower = text.toLowerCase();
  const parts: ReactNode[] = [];
  let from = 0;
  for (let at = lower.indexOf(find); at >= 0; at = lower.indexOf(find, from)) {
    parts.push(
      text.slice(from, at),
      <mark key={at} className="rounded-xs bg-warn/40 text-inherit">
        {text.slice(at, at + find.length)}
      </mark>,
    );
    from = at + find.length;
  }
  return parts.length === 0 ? text : [...parts, text.slice(from)];
}
