// Parses the unified patch of one file, as git writes it, into the rows that the page shows.

/** Row is one line of a patch. */
export interface Row {
  /** gap: unchanged lines between two hunks are omitted here; note: a remark by git. */
  kind: 'same' | 'add' | 'del' | 'gap' | 'note';
  /** The line number before the change; null: the line is new. */
  old: number | null;
  /** The line number after the change; null: the line was removed. */
  new: number | null;
  text: string;
}

const hunk = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ ?(.*)$/;

/** rowsOf returns the rows of a patch. Text before the first hunk is left out. */
export function rowsOf(patch: string): Row[] {
  const rows: Row[] = [];
  let before = 0;
  let after = 0;
  // How many lines of the hunk are still to come. A line inside a hunk may have any text, even that of a hunk header.
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
      // the header of the file, or its end
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

/** Side is the version to which a line number belongs. */
export type Side = 'old' | 'new';

/**
 * placeOf returns the line for a comment on a row: in the new version if it exists there, else in the old. Null: none.
 */
export function placeOf(row: Row): { side: Side; line: number } | null {
  if (row.new !== null) return { side: 'new', line: row.new };
  return row.old === null ? null : { side: 'old', line: row.old };
}

/** Pair is a row of the side-by-side view: the index of the patch's row on each side. Null: that side is empty. */
export interface Pair {
  old: number | null;
  new: number | null;
}

/** pairsOf puts removed lines beside the added lines that replace them. Gaps and notes are on both sides. */
export function pairsOf(rows: readonly Row[]): Pair[] {
  const pairs: Pair[] = [];
  let removed: number[] = [];
  let added: number[] = [];
  const flush = (): void => {
    for (let i = 0; i < Math.max(removed.length, added.length); i++)
      pairs.push({ old: removed[i] ?? null, new: added[i] ?? null });
    removed = [];
    added = [];
  };
  rows.forEach((row, index) => {
    if (row.kind === 'del') {
      // A removed line after added ones starts the next replacement.
      if (added.length > 0) flush();
      removed.push(index);
    } else if (row.kind === 'add') added.push(index);
    else if (row.kind === 'note' && removed.length + added.length > 0 && rows[index + 1]?.kind === 'add') {
      // git's note about the old version's missing final newline comes between removed and added lines. It must not
      // separate them.
      pairs.push({ old: index, new: index });
    } else {
      flush();
      pairs.push({ old: index, new: index });
    }
  });
  flush();
  return pairs;
}

/** Block contains the lines of one version in one hunk, and the indexes of their rows. */
export interface Block {
  code: string;
  rows: number[];
}

/** blocksOf returns each version of each hunk as code that can be highlighted by itself. */
export function blocksOf(rows: readonly Row[]): Block[] {
  const blocks: Block[] = [];
  let before: number[] = [];
  let after: number[] = [];
  const flush = (): void => {
    for (const places of [before, after])
      if (places.length > 0)
        blocks.push({ code: places.map((place) => rows[place]?.text).join('\n'), rows: places });
    before = [];
    after = [];
  };
  rows.forEach((row, index) => {
    if (row.kind === 'gap') flush();
    if (row.old !== null) before.push(index);
    if (row.new !== null) after.push(index);
  });
  flush();
  return blocks;
}
