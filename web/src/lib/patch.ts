// Reads the unified patch of one file, as git writes it, into the rows that a page shows.

/** Row is one line of a patch. */
export interface Row {
  /** gap: lines between two hunks are left out here; note: a remark of git's. */
  kind: 'same' | 'add' | 'del' | 'gap' | 'note';
  /** The line's number before the change; null: it was not there. */
  old: number | null;
  /** The line's number after the change; null: it is gone. */
  new: number | null;
  text: string;
}

const hunk = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ ?(.*)$/;

/** rowsOf is the rows of a patch. What stands before the first hunk is left out. */
export function rowsOf(patch: string): Row[] {
  const rows: Row[] = [];
  let before = 0;
  let after = 0;
  // How many lines the hunk has still to bring: its lines may look like anything, also like the head of a hunk.
  let left = { old: 0, new: 0 };
  for (const line of patch.split('\n')) {
    const within = left.old > 0 || left.new > 0;
    const head = within ? null : hunk.exec(line);
    if (head) {
      before = Number(head[1]);
      after = Number(head[3]);
      left = { old: Number(head[2] ?? 1), new: Number(head[4] ?? 1) };
      rows.push({ kind: 'gap', old: null, new: null, text: head[5] ?? '' });
    } else if (line.startsWith('\\') && rows.length > 0) {
      rows.push({ kind: 'note', old: null, new: null, text: line.slice(1).trim() });
    } else if (!within) {
      // the head of the file, or its end
    } else if (line.startsWith('+')) {
      rows.push({ kind: 'add', old: null, new: after++, text: line.slice(1) });
      left.new--;
    } else if (line.startsWith('-')) {
      rows.push({ kind: 'del', old: before++, new: null, text: line.slice(1) });
      left.old--;
    } else {
      rows.push({ kind: 'same', old: before++, new: after++, text: line.slice(1) });
      left.old--;
      left.new--;
    }
  }
  return rows;
}

/** Side is the version that a line is counted in. */
export type Side = 'old' | 'new';

/** placeOf is where a comment on a row stands: in the new version, unless the line is only in the old one. Null: nowhere. */
export function placeOf(row: Row): { side: Side; line: number } | null {
  if (row.new !== null) return { side: 'new', line: row.new };
  return row.old === null ? null : { side: 'old', line: row.old };
}
