import { fireEvent, render, screen } from '@testing-library/react';
import { expect, it, vi } from 'vitest';
import type { ChangedFile } from '@/api/schema.gen';
import { FileTree } from './FileTree';

const files = Array.from(
  { length: 300 },
  (_, i) => ({ path: `docs/part-${i}.md`, additions: 1200 + i, deletions: i }) as ChangedFile,
);

it('names every file with its lines, and opens it', () => {
  const onOpen = vi.fn();
  render(<FileTree files={files} onOpen={onOpen} />);
  const rows = screen.getAllByTitle(/^docs\/part-/);
  expect(rows.length).toBe(files.length);
  expect(rows[7]?.textContent).toBe('part-7.md+1,207−7');
  fireEvent.click(rows[7] as HTMLElement);
  expect(onOpen.mock.calls).toEqual([[7]]);
});

// The time to open a large change depends on the number of elements in this list.
it('draws a file with four elements', () => {
  const { container } = render(<FileTree files={files} onOpen={() => {}} />);
  expect(container.querySelectorAll('details li *, details li').length).toBe(files.length * 4);
});
