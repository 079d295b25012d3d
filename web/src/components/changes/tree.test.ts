import { expect, it } from 'vitest';
import { firstOf, treeOf } from './tree';

it('changed files stand by folder, and a folder with nothing but a folder in it is one line with it', () => {
  const file = (name: string, index: number) => ({ name, index });
  expect(treeOf(['README.md', 'web/src/a.ts', 'web/src/b/c.ts', 'web/src/d.ts', 'x/y/z'])).toEqual({
    name: '',
    files: [file('README.md', 0)],
    folders: [
      {
        name: 'web/src',
        files: [file('a.ts', 1), file('d.ts', 3)],
        folders: [{ name: 'b', folders: [], files: [file('c.ts', 2)] }],
      },
      { name: 'x/y', folders: [], files: [file('z', 4)] },
    ],
  });
});

it('a part of a tree is its first files as they are drawn, and folders that it has whole are the same', () => {
  const tree = treeOf(['README.md', 'a/1', 'a/2', 'b/3', 'c/4']);
  const part = firstOf(tree, 3);
  expect(part.folders.map(({ name, files }) => [name, files.map((file) => file.name)])).toEqual([
    ['a', ['1', '2']],
    ['b', ['3']],
  ]);
  expect(part.files).toEqual([]);
  expect(part.folders[0]).toBe(tree.folders[0]);
  expect(firstOf(tree, 1).folders[0]?.files).toHaveLength(1);
  expect(firstOf(tree, 5)).toBe(tree);
});
