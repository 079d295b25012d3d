import { MessageSquarePlus } from 'lucide-react';
import { Fragment, type KeyboardEvent, memo, type ReactNode, useRef, useState } from 'react';
import type { Comment } from '@/api/schema.gen';
import { placeOf, type Row } from '@/lib/patch';
import { Button } from '@/ui/Button';
import { cx } from '@/ui/cx';
import { Thread } from './Thread';
import { nextPlace } from './threads';

/** How many rows of a file are drawn at once. */
const atOnce = 1200;

const looks: Record<Row['kind'], { row: string; sign: string; word?: string }> = {
  same: { row: '', sign: ' ' },
  add: { row: 'bg-ok/10', sign: '+', word: 'added' },
  del: { row: 'bg-bad/10', sign: '−', word: 'removed' },
  gap: { row: 'bg-sunken text-ink-2', sign: '' },
  note: { row: 'text-ink-2', sign: '' },
};

/**
 * DiffTable is a file's patch in one column. The line numbers are buttons that comment: one of them is reached by Tab,
 * the arrow keys lead to the others.
 */
export function DiffTable({
  path,
  rows,
  threads,
  form,
}: {
  path: string;
  rows: Row[];
  threads: Map<number, Comment[]>;
  /** What writes a comment on a row. */
  form(row: Row, close: () => void): ReactNode;
}) {
  const table = useRef<HTMLTableElement>(null);
  const [shown, setShown] = useState(atOnce);
  const [active, setActive] = useState<number | null>(null);
  const [writing, setWriting] = useState<number | null>(null);
  const first = nextPlace(rows, -1, 1);
  const focus = (index: number): void => {
    setActive(index);
    table.current?.querySelector<HTMLElement>(`[data-line="${index}"]`)?.focus();
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const at = (event.target as HTMLElement).dataset.line;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key] as 1 | -1 | undefined;
    if (at === undefined || !step || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    const next = nextPlace(rows.slice(0, shown), Number(at), step);
    if (next !== null) focus(next);
  };
  return (
    <>
      <table
        ref={table}
        onKeyDown={onKeyDown}
        aria-label={`Changes of ${path}`}
        className="w-full table-fixed border-collapse font-mono text-xs leading-5 [tab-size:4]"
      >
        <tbody>
          {rows.slice(0, shown).map((row, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: rows have no identity but their place
            <Fragment key={index}>
              <Line
                row={row}
                index={index}
                tabbable={index === (active ?? first)}
                onComment={() => {
                  setActive(index);
                  setWriting(index);
                }}
              />
              {threads.has(index) && (
                <tr>
                  <td colSpan={2} className="bg-sunken">
                    <Thread comments={threads.get(index) ?? []} />
                  </td>
                </tr>
              )}
              {writing === index && (
                <tr>
                  <td colSpan={2} className="bg-sunken">
                    {form(row, () => {
                      setWriting(null);
                      focus(index);
                    })}
                  </td>
                </tr>
              )}
            </Fragment>
          ))}
        </tbody>
      </table>
      {rows.length > shown && (
        <div className="flex justify-center p-2">
          <Button size="sm" onClick={() => setShown((count) => count + atOnce)}>
            Show {Math.min(atOnce, rows.length - shown).toLocaleString()} of{' '}
            {(rows.length - shown).toLocaleString()} more lines
          </Button>
        </div>
      )}
    </>
  );
}

const Line = memo(
  function Line({
    row,
    index,
    tabbable,
    onComment,
  }: {
    row: Row;
    index: number;
    tabbable: boolean;
    onComment(): void;
  }) {
    const place = placeOf(row);
    const look = looks[row.kind];
    return (
      <tr className={cx('group', look.row)}>
        <td className="w-14 align-top select-none">
          {place && (
            <button
              type="button"
              data-line={index}
              tabIndex={tabbable ? 0 : -1}
              onClick={onComment}
              aria-label={`Comment on ${place.side === 'old' ? 'removed ' : ''}line ${place.line}`}
              className="flex w-full items-center justify-end gap-1 px-1.5 text-ink-2 tabular -outline-offset-2 hover:bg-hover hover:text-ink"
            >
              <MessageSquarePlus
                aria-hidden
                className="size-3 opacity-0 group-hover:opacity-100 group-focus-within:opacity-100"
              />
              {place.line}
            </button>
          )}
        </td>
        <td className="px-2 align-top break-words whitespace-pre-wrap [overflow-wrap:anywhere]">
          {look.word && <span className="sr-only">{look.word}: </span>}
          <span aria-hidden className="select-none">
            {row.kind === 'gap' ? '⋯ ' : look.sign}
          </span>
          {row.text}
        </td>
      </tr>
    );
  },
  (before, after) =>
    before.row === after.row && before.index === after.index && before.tabbable === after.tabbable,
);
