import { Fragment, type KeyboardEvent, type ReactNode, useMemo, useRef, useState } from 'react';
import type { Comment } from '@/api/schema.gen';
import { count } from '@/lib/count';
import { type Pair, pairsOf, type Row } from '@/lib/patch';
import { useParts } from '@/lib/useParts';
import { Button } from '@/ui/Button';
import { SplitLine, UnifiedLine } from './DiffLine';
import { Thread } from './Thread';
import { nextBeside, nextPlace } from './threads';
import { useTokens } from './useTokens';

/** How many lines of a file are rendered first, and how many are added by each click. */
export const atOnce = 1200;
/** How many lines are rendered per frame: more than fit on a screen. */
const inFrame = 120;
/** The height of a line that does not wrap, in px. */
export const lineHeight = 20;

const along = ['ArrowDown', 'ArrowUp'];
const across = ['ArrowLeft', 'ArrowRight'];

/**
 * DiffTable shows a file's patch, in one column or side by side. The line numbers are buttons that open a comment form.
 * Tab reaches one of them, and the arrow keys move to the others.
 */
export function DiffTable({
  path,
  rows,
  split,
  threads,
  drawn = atOnce,
  onDraw,
  form,
}: {
  path: string;
  rows: Row[];
  /** Whether the two versions are shown side by side. */
  split: boolean;
  threads: Map<number, Comment[]>;
  /** How many lines are rendered in total. */
  drawn?: number;
  onDraw?(lines: number): void;
  /** form returns the form for a comment on a row. */
  form(row: Row, close: () => void): ReactNode;
}) {
  const table = useRef<HTMLTableElement>(null);
  const [active, setActive] = useState<number | null>(null);
  const [writing, setWriting] = useState<number | null>(null);
  const tokens = useTokens(path, rows);
  const lines = useMemo<Pair[]>(
    () => (split ? pairsOf(rows) : rows.map((_, index) => ({ old: null, new: index }))),
    [split, rows],
  );
  const due = Math.min(lines.length, drawn);
  const there = useParts(due, inFrame);
  const first = nextPlace(rows, -1, 1);
  const focus = (index: number): void => {
    const button = table.current?.querySelector<HTMLElement>(`[data-line="${index}"]`);
    if (!button) return;
    setActive(index);
    button.focus();
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const at = (event.target as HTMLElement).dataset.line;
    if (at === undefined || event.ctrlKey || event.altKey || event.metaKey) return;
    if (!along.includes(event.key) && !(split && across.includes(event.key))) return;
    event.preventDefault();
    const from = Number(at);
    const next = split
      ? nextBeside(rows, lines, from, event.key)
      : nextPlace(rows, from, event.key === 'ArrowDown' ? 1 : -1);
    if (next !== null) focus(next);
  };
  const commentOn = (index: number): void => {
    setActive(index);
    setWriting(index);
  };
  /** under renders the rows below a line: the comments on it, and the form for another one. */
  const under = (index: number): ReactNode => (
    <>
      {threads.has(index) && (
        <tr>
          <td colSpan={split ? 4 : 2} className="bg-sunken">
            <Thread comments={threads.get(index) ?? []} />
          </td>
        </tr>
      )}
      {writing === index && (
        <tr>
          <td colSpan={split ? 4 : 2} className="bg-sunken">
            {form(rows[index] as Row, () => {
              setWriting(null);
              focus(index);
            })}
          </td>
        </tr>
      )}
    </>
  );
  const props = (index: number) => ({
    row: rows[index] as Row,
    index,
    tokens: tokens.get(index),
    tabbable: index === (active ?? first),
    onComment: commentOn,
  });
  return (
    <>
      <table
        ref={table}
        onKeyDown={onKeyDown}
        aria-label={`Changes of ${path}`}
        className="w-full table-fixed border-collapse font-mono text-xs leading-5 [tab-size:4]"
      >
        {split && (
          <colgroup>
            <col className="w-14" />
            <col />
            <col className="w-14" />
            <col />
          </colgroup>
        )}
        <tbody>
          {lines.slice(0, there).map((line) => {
            const places = [...new Set([line.old, line.new])].filter((place) => place !== null);
            return (
              <Fragment key={places[0]}>
                {split ? (
                  <SplitLine
                    before={line.old === null ? null : props(line.old)}
                    after={line.new === null ? null : props(line.new)}
                  />
                ) : (
                  <UnifiedLine {...props(line.new as number)} />
                )}
                {places.map((place) => (
                  <Fragment key={place}>{under(place)}</Fragment>
                ))}
              </Fragment>
            );
          })}
        </tbody>
      </table>
      {/* As high as the lines that are not rendered yet, so that the content below does not move. */}
      {there < due && <div aria-hidden style={{ height: (due - there) * lineHeight }} />}
      {lines.length > drawn && (
        <div className="flex justify-center p-2">
          <Button size="sm" onClick={() => onDraw?.(drawn + atOnce)}>
            Show {count(Math.min(atOnce, lines.length - drawn))} of {count(lines.length - drawn)} more lines
          </Button>
        </div>
      )}
    </>
  );
}
