import { describe, expect, it } from 'vitest';
import { blocksOf, pairsOf, placeOf, rowsOf } from './patch';

const patch = `diff --git a/main.go b/main.go
index 1..2 100644
--- a/main.go
+++ b/main.go
@@ -3,3 +3,4 @@ func main() {
 one
-two
+zwei
+drei
 four
@@ -20 +21 @@
-@@ -1 +1 @@ no head
++++ no head either
\\ No newline at end of file
`;

describe('the rows of a patch', () => {
  it('carry their numbers on both sides', () => {
    expect(rowsOf(patch).map((row) => [row.kind, row.old, row.new, row.text])).toEqual([
      ['gap', null, null, 'func main() {'],
      ['same', 3, 3, 'one'],
      ['del', 4, null, 'two'],
      ['add', null, 4, 'zwei'],
      ['add', null, 5, 'drei'],
      ['same', 5, 6, 'four'],
      ['gap', null, null, ''],
      ['del', 20, null, '@@ -1 +1 @@ no head'],
      ['add', null, 21, '+++ no head either'],
      ['note', null, null, 'No newline at end of file'],
    ]);
  });

  it('are none for a file without lines', () => {
    expect(rowsOf('diff --git a/x b/y\nrename from x\nrename to y\n')).toEqual([]);
    expect(rowsOf('')).toEqual([]);
  });

  it('are commented on in the new version where there is one', () => {
    expect(rowsOf(patch).map(placeOf).slice(0, 4)).toEqual([
      null,
      { side: 'new', line: 3 },
      { side: 'old', line: 4 },
      { side: 'new', line: 4 },
    ]);
  });
});

describe('two versions beside each other', () => {
  it('have removed lines beside the added ones in their place', () => {
    expect(pairsOf(rowsOf(patch)).map(({ old, new: after }) => [old, after])).toEqual([
      [0, 0],
      [1, 1],
      [2, 3],
      [null, 4],
      [5, 5],
      [6, 6],
      [7, 8],
      [9, 9],
    ]);
  });

  it('do not run into the next exchange', () => {
    const rows = rowsOf('@@ -1,2 +1,1 @@\n-a\n+b\n-c\n');
    expect(pairsOf(rows).map(({ old, new: after }) => [old, after])).toEqual([
      [0, 0],
      [1, 2],
      [3, null],
    ]);
  });

  it('are not parted by a missing newline', () => {
    const rows = rowsOf('@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n');
    expect(pairsOf(rows).map(({ old, new: after }) => [old, after])).toEqual([
      [0, 0],
      [2, 2],
      [1, 3],
    ]);
  });
});

it('each version of each hunk is read as code by itself', () => {
  expect(blocksOf(rowsOf(patch)).map(({ code, rows }) => [code, rows])).toEqual([
    ['one\ntwo\nfour', [1, 2, 5]],
    ['one\nzwei\ndrei\nfour', [1, 3, 4, 5]],
    ['@@ -1 +1 @@ no head', [7]],
    ['+++ no head either', [8]],
  ]);
});
