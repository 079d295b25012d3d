import { describe, expect, it } from 'vitest';
import type { ChangedFile, Comment } from '@/api/schema.gen';
import { pairsOf, rowsOf } from '@/lib/patch';
import { byFile, nextBeside, nextPlace, placeOfComment, threadsOf } from './threads';

const comment = (id: string, fields: Partial<Comment> = {}): Comment => ({
  id,
  workspace_id: 'w',
  checkpoint: 2,
  path: 'a.go',
  side: 'new',
  line: 2,
  end_line: null,
  quote: '',
  body: id,
  author: 'ann',
  state: 'draft',
  note: '',
  run_id: null,
  message_id: null,
  delivery: '',
  delivery_reason: '',
  anchor: 'same',
  anchor_path: 'a.go',
  anchor_line: 2,
  created_at: '2026-01-02T03:04:05.000Z',
  updated_at: '2026-01-02T03:04:05.000Z',
  ...fields,
});
const rows = rowsOf('@@ -1,3 +1,3 @@\n one\n-two\n+zwei\n three\n');
const version = { checkpoint: 2, since: 0 };
const ids = (list: Comment[] | undefined): string => list?.map(({ id }) => id).join('') ?? '';

describe('comments on a change', () => {
  it('stand below the last of their lines, on the side they were made on', () => {
    const { byRow, loose } = threadsOf(
      rows,
      [
        comment('n'),
        comment('o', { side: 'old' }),
        comment('r', { line: 1, end_line: 3 }),
        comment('f', { line: null, anchor_line: null }),
        comment('far', { line: 99 }),
      ],
      version,
      2,
    );
    expect([2, 3, 4].map((row) => ids(byRow.get(row)))).toEqual(['o', 'n', 'r']);
    expect(ids(loose)).toBe('ffar');
  });

  it('follow their lines into a newer checkpoint, and are told apart when those are gone', () => {
    const newer = { checkpoint: 5, since: 0 };
    const moved = comment('m', {
      anchor: 'moved',
      anchor_path: 'b.go',
      anchor_line: 7,
      line: 2,
      end_line: 4,
    });
    expect(placeOfComment(moved, newer, 5)).toEqual({ path: 'b.go', side: 'new', line: 9 });
    expect(
      placeOfComment(comment('g', { anchor: 'gone', anchor_path: '', anchor_line: null }), newer, 5),
    ).toBeNull();
    // The server tracks the lines of comments only for the newest checkpoint.
    expect(placeOfComment(moved, { checkpoint: 4, since: 0 }, 5)).toBeNull();
  });

  it('are sorted to the files in sight', () => {
    const files = [{ path: 'a.go' }, { path: 'b.go' }] as ChangedFile[];
    const sorted = byFile(files, [comment('a'), comment('x', { path: 'x.go' })], version, 2);
    expect([ids(sorted.get('a.go')), ids(sorted.get('b.go')), ids(sorted.get(null))]).toEqual(['a', '', 'x']);
  });
});

it('the arrow keys pass over what cannot be commented on', () => {
  expect(nextPlace(rows, 0, 1)).toBe(1);
  expect(nextPlace(rows, 1, -1)).toBeNull();
  expect(nextPlace(rows, 4, 1)).toBeNull();
});

it('the arrow keys stay on their side of two versions, or go across', () => {
  const pairs = pairsOf(rows);
  const to = (from: number, key: string) => nextBeside(rows, pairs, from, `Arrow${key}`);
  expect([to(1, 'Down'), to(3, 'Down'), to(4, 'Up'), to(1, 'Up')]).toEqual([3, 4, 3, null]);
  expect([to(3, 'Left'), to(2, 'Right'), to(1, 'Left'), to(2, 'Down')]).toEqual([2, 3, null, null]);
});
