import { memo } from 'react';
import type { Token } from '@/lib/highlight/tokens';
import { placeOf, type Row } from '@/lib/patch';
import { cx } from '@/ui/cx';
import { Code } from './Code';

const looks: Record<Row['kind'], { row: string; sign: string; word?: string }> = {
  same: { row: '', sign: ' ' },
  add: { row: 'bg-ok/10', sign: '+', word: 'added' },
  del: { row: 'bg-bad/10', sign: '−', word: 'removed' },
  gap: { row: 'bg-sunken text-ink-2', sign: '' },
  note: { row: 'text-ink-2', sign: '' },
};

/** LineProps are a row of a patch and the callback to comment on it. */
interface LineProps {
  row: Row;
  index: number;
  tokens?: Token[];
  tabbable: boolean;
  onComment(index: number): void;
}

/** Compares the props without the callback, which never changes its meaning while the row exists. */
const same = (a: LineProps | null, b: LineProps | null): boolean =>
  a === b ||
  (a !== null &&
    b !== null &&
    a.row === b.row &&
    a.index === b.index &&
    a.tokens === b.tokens &&
    a.tabbable === b.tabbable);

/** UnifiedLine shows a row of a patch in the one-column view. */
export const UnifiedLine = memo(function UnifiedLine(line: LineProps) {
  return (
    <tr>
      <td className={cx('w-14 align-top select-none', looks[line.row.kind].row)}>
        <LineNumber {...line} />
      </td>
      <TextCell {...line} />
    </tr>
  );
}, same);

/** SplitLine shows a line of the old version and, beside it, the line of the new version that replaces it. */
export const SplitLine = memo(
  function SplitLine({ before, after }: { before: LineProps | null; after: LineProps | null }) {
    const whole = before?.row.kind === 'gap' || before?.row.kind === 'note' ? before : null;
    if (whole) {
      return (
        <tr>
          <td className={looks[whole.row.kind].row} />
          <TextCell {...whole} span={3} />
        </tr>
      );
    }
    return (
      <tr>
        <td className={cx('align-top select-none', before && looks[before.row.kind].row)}>
          {before?.row.kind === 'del' ? (
            <LineNumber {...before} />
          ) : (
            before && <span className="block px-1.5 text-right text-ink-2 tabular">{before.row.old}</span>
          )}
        </td>
        {before ? <TextCell {...before} /> : <td className="bg-sunken" />}
        <td className={cx('border-l align-top select-none', after && looks[after.row.kind].row)}>
          {after && <LineNumber {...after} />}
        </td>
        {after ? <TextCell {...after} /> : <td className="bg-sunken" />}
      </tr>
    );
  },
  (a, b) => same(a.before, b.before) && same(a.after, b.after),
);

function LineNumber({ row, index, tabbable, onComment }: LineProps) {
  const place = placeOf(row);
  if (!place) return null;
  return (
    <button
      type="button"
      data-line={index}
      tabIndex={tabbable ? 0 : -1}
      onClick={() => onComment(index)}
      aria-label={`Comment on ${place.side === 'old' ? 'removed ' : ''}line ${place.line}`}
      className="comment-mark flex w-full items-center justify-end gap-1 px-1.5 text-ink-2 tabular -outline-offset-2 hover:bg-hover hover:text-ink"
    >
      {place.line}
    </button>
  );
}

function TextCell({ row, tokens, span }: LineProps & { span?: number }) {
  const look = looks[row.kind];
  return (
    <td
      colSpan={span}
      className={cx('px-2 align-top break-words whitespace-pre-wrap [overflow-wrap:anywhere]', look.row)}
    >
      {look.word && <span className="sr-only">{look.word}: </span>}
      <span aria-hidden className="select-none">
        {row.kind === 'gap' ? '⋯ ' : look.sign}
      </span>
      <Code text={row.text} tokens={tokens} />
    </td>
  );
}
