import { expect, it } from 'vitest';
import { treeOf } from './tree';

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
