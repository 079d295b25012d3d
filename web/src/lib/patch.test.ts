import { describe, expect, it } from 'vitest';
import { placeOf, rowsOf } from './patch';

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
