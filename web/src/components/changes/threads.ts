import type { ChangedFile, Comment } from '@/api/schema.gen';
import type { Version } from '@/data/changes';
import { type Pair, placeOf, type Row, type Side } from '@/lib/patch';

/** CommentPlace is where a comment stands in what is shown. */
interface CommentPlace {
  path: string;
  side: Side;
  /** The last of its lines; null: the whole file. */
  line: number | null;
}

/** placeOfComment is where a comment stands in a version; null: its lines are not there any more. */
export function placeOfComment(comment: Comment, version: Version, newest: number): CommentPlace | null {
  const { path, side, line, end_line, anchor, anchor_path, anchor_line } = comment;
  const further = line !== null && end_line !== null ? end_line - line : 0;
  const at = (file: string, first: number | null): CommentPlace => ({
    path: file,
    side,
    line: first === null ? null : first + further,
  });
  if (comment.checkpoint === version.checkpoint) return at(path, line);
  if (anchor === 'gone' || version.checkpoint !== newest) return null;
  return at(anchor_path, anchor_line);
}

/** Threads is the comments of one file: on its rows by place, and those that have no row in what is shown. */
export interface Threads {
  byRow: Map<number, Comment[]>;
  loose: Comment[];
}

/** threadsOf finds the row of each comment of a file. */
export function threadsOf(
  rows: readonly Row[],
  comments: readonly Comment[],
  version: Version,
  newest: number,
): Threads {
  const threads: Threads = { byRow: new Map(), loose: [] };
  const places = new Map<string, number>();
  rows.forEach((row, index) => {
    // A line that both versions have is found by either number.
    if (row.new !== null) places.set(`new ${row.new}`, index);
    if (row.old !== null) places.set(`old ${row.old}`, index);
  });
  for (const comment of comments) {
    const place = placeOfComment(comment, version, newest);
    const index = place?.line == null ? undefined : places.get(`${place.side} ${place.line}`);
    if (index === undefined) threads.loose.push(comment);
    else threads.byRow.set(index, [...(threads.byRow.get(index) ?? []), comment]);
  }
  return threads;
}

/** byFile groups comments by the file that is shown; null: comments on files that are not shown. */
export function byFile(
  files: readonly ChangedFile[],
  comments: readonly Comment[],
  version: Version,
  newest: number,
): Map<string | null, Comment[]> {
  const paths = new Set(files.map((file) => file.path));
  const sorted = new Map<string | null, Comment[]>();
  for (const comment of comments) {
    const path = placeOfComment(comment, version, newest)?.path ?? comment.path;
    const key = paths.has(path) ? path : null;
    sorted.set(key, [...(sorted.get(key) ?? []), comment]);
  }
  return sorted;
}

/** nextPlace is the next row from an index, up or down, that can be commented on; null: there is none. */
export function nextPlace(rows: readonly Row[], from: number, step: 1 | -1): number | null {
  for (let i = from + step; i >= 0 && i < rows.length; i += step) {
    if (placeOf(rows[i] as Row)) return i;
  }
  return null;
}

/** nextBeside is the row that an arrow key leads to where the versions stand beside each other: along its own side, or across. */
export function nextBeside(
  rows: readonly Row[],
  pairs: readonly Pair[],
  from: number,
  key: string,
): number | null {
  const removed = rows[from]?.kind === 'del';
  if (key === 'ArrowLeft' || key === 'ArrowRight') {
    const pair = pairs.find((each) => (removed ? each.old : each.new) === from);
    const across = (key === 'ArrowLeft' ? pair?.old : pair?.new) ?? null;
    return across === from ? null : across;
  }
  const step = key === 'ArrowDown' ? 1 : -1;
  for (let next = nextPlace(rows, from, step); next !== null; next = nextPlace(rows, next, step)) {
    if ((rows[next]?.kind === 'del') === removed) return next;
  }
  return null;
}
