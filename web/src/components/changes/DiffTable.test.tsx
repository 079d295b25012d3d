import { fireEvent, render, screen, waitFor } from '@testing-library/react';
import { describe, expect, it, vi } from 'vitest';
import { highlighter } from '@/lib/highlight/highlight';
import { rowsOf } from '@/lib/patch';
import { DiffTable } from './DiffTable';

// The timeouts only end a test that hangs: a busy machine is slow.
vi.setConfig({ testTimeout: 60_000 });
const rows = rowsOf('@@ -1,3 +1,4 @@ func main\n one\n-two\n+zwei\n+drei\n four\n');
const show = (split: boolean, path = 'notes') =>
  render(
    <DiffTable
      path={path}
      rows={rows}
      split={split}
      threads={new Map()}
      form={(row, close) => (
        <button type="button" onClick={close}>
          about {row.text}
        </button>
      )}
    />,
  );
const lines = (): string[][] =>
  screen.getAllByRole('row').map((row) => [...row.querySelectorAll('td')].map((cell) => cell.textContent));

describe('a patch', () => {
  it('stands in one column', () => {
    show(false);
    expect(lines()).toEqual([
      ['', '⋯ func main'],
      ['1', ' one'],
      ['2', 'removed: −two'],
      ['2', 'added: +zwei'],
      ['3', 'added: +drei'],
      ['4', ' four'],
    ]);
  });

  it('has no picture in each of its lines', () => {
    const { container } = show(false);
    expect(container.querySelectorAll('svg').length).toBe(0);
  });

  it('stands with its two versions beside each other', () => {
    show(true);
    expect(lines()).toEqual([
      ['', '⋯ func main'],
      ['1', ' one', '1', ' one'],
      ['2', 'removed: −two', '2', 'added: +zwei'],
      ['', '', '3', 'added: +drei'],
      ['3', ' four', '4', ' four'],
    ]);
  });

  it('is commented on from either side with the keyboard alone', () => {
    show(true);
    const at = (name: string) => screen.getByRole('button', { name });
    at('Comment on line 2').focus();
    fireEvent.keyDown(at('Comment on line 2'), { key: 'ArrowLeft' });
    expect(document.activeElement).toBe(at('Comment on removed line 2'));
    fireEvent.click(at('Comment on removed line 2'));
    fireEvent.click(at('about two'));
    expect(document.activeElement).toBe(at('Comment on removed line 2'));
    fireEvent.keyDown(at('Comment on removed line 2'), { key: 'ArrowRight' });
    fireEvent.keyDown(at('Comment on line 2'), { key: 'ArrowDown' });
    expect(document.activeElement).toBe(at('Comment on line 3'));
  });

  it('is plain until its code is read, and says the same afterwards', async () => {
    const read = vi
      .spyOn(highlighter, 'read')
      .mockResolvedValue([
        [[{ kind: null, text: 'one' }], [{ kind: 'keyword', text: 'two' }], [{ kind: null, text: 'four' }]],
      ]);
    show(false, 'main.go');
    const before = lines();
    expect((await screen.findByText('two', { selector: 'span' })).className).toBe('text-violet');
    expect(lines()).toEqual(before);
    expect(read).toHaveBeenCalledWith({
      language: 'go',
      blocks: ['one\ntwo\nfour', 'one\nzwei\ndrei\nfour'],
    });
  });

  it('draws what is in sight at once and all of a long file in the end, none of which moves what is below', async () => {
    const text = Array.from({ length: 310 }, (_, i) => `+line ${i + 1}\n`).join('');
    const box = render(
      <DiffTable
        path="notes"
        rows={rowsOf(`@@ -0,0 +1,310 @@\n${text}`)}
        split={false}
        threads={new Map()}
        drawn={300}
        form={() => null}
      />,
    );
    const drawn = (): number => box.container.querySelectorAll('tr').length;
    const held = (): number => {
      const space = box.container.querySelector<HTMLElement>('div[aria-hidden]');
      return space ? Number.parseInt(space.style.height, 10) / 20 : 0;
    };
    expect(drawn()).toBeLessThan(200);
    expect(drawn() + held()).toBe(300);
    await waitFor(() => expect(drawn()).toBe(300), { timeout: 30_000 });
    expect(held()).toBe(0);
    expect(box.container.textContent).toContain('Show 11 of 11 more lines');
  });
});
