import type { ChangedFile, Comment } from '@/api/schema.gen';
import type { Version } from '@/data/changes';
import { type Pair, placeOf, type Row, type Side } from '@/lib/patch';

/** CommentPlace is where a comment is shown. */
interface CommentPlace {
  path: string;
  side: Side;
  /** The last line of the comment; null: the comment is on the whole file. */
  line: number | null;
}

/** placeOfComment returns where a comment is shown in a version; null: its lines are not in this version. */
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

/** Threads has the comments of one file: by the index of their row, and those without a row in the shown version. */
export interface Threads {
  byRow: Map<number, Comment[]>;
  loose: Comment[];
}

/** threadsOf assigns the comments of a file to its rows. */
export function threadsOf(
  rows: readonly Row[],
  comments: readonly Comment[],
  version: Version,
  newest: number,
): Threads {
  const threads: Threads = { byRow: new Map(), loose: [] };
  const places = new Map<string, number>();
  rows.forEach((row, index) => {
    // A line that exists in both versions is found by either number.
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

/** byFile groups comments by the shown file. null is the group of comments on files that are not shown. */
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

/** nextPlace returns the next row, up or down from an index, that can be commented on; null: there is none. */
export function nextPlace(rows: readonly Row[], from: number, step: 1 | -1): number | null {
  for (let i = from + step; i >= 0 && i < rows.length; i += step) {
    if (placeOf(rows[i] as Row)) return i;
  }
  return null;
}

/** nextBeside returns the row to which an arrow key moves in the side-by-side view: along its own side, or across. */
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
