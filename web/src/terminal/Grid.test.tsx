import { act, render } from '@testing-library/react';
import { Terminal } from '@xterm/xterm';
import { createRef } from 'react';
import { expect, it, vi } from 'vitest';
import Grid from './Grid';
import type { GridHandle } from './gridProps';
import { dark } from './palette';

it('only keys are input: neither the wheel, nor the mouse, nor the focus', async () => {
  const typed = vi.fn();
  const grid = createRef<GridHandle>();
  const { container } = render(
    <Grid ref={grid} cols={20} rows={5} scale="full" palette={dark} typing label="Agent" onType={typed} />,
  );
  const element = container.querySelector('.xterm') as HTMLElement;
  const area = container.querySelector('textarea') as HTMLTextAreaElement;
  // A program turns on reports of the mouse and of the focus.
  const shown = new Promise<void>((resolve) =>
    grid.current?.write('\x1b[?1000h\x1b[?1006h\x1b[?1004h', resolve),
  );
  await act(() => shown);
  element.dispatchEvent(new WheelEvent('wheel', { deltaY: -120, bubbles: true, cancelable: true }));
  element.dispatchEvent(new MouseEvent('mousedown', { button: 0, bubbles: true, cancelable: true }));
  area.focus();
  area.dispatchEvent(new FocusEvent('focus'));
  area.dispatchEvent(new FocusEvent('blur'));
  expect(typed).not.toHaveBeenCalled();

  area.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowUp', keyCode: 38, bubbles: true }));
  expect(typed.mock.calls).toEqual([['\x1b[A']]);
});

it('leaves every key to the page while it is only watched, and Tab passes by it', () => {
  const grid = (typing: boolean) => (
    <Grid cols={20} rows={5} scale="full" palette={dark} typing={typing} label="Agent" />
  );
  const { container, rerender } = render(grid(false));
  const area = container.querySelector('textarea') as HTMLTextAreaElement;
  const taken = (): boolean => {
    const tab = new KeyboardEvent('keydown', { key: 'Tab', keyCode: 9, bubbles: true, cancelable: true });
    area.dispatchEvent(tab);
    return tab.defaultPrevented;
  };
  expect([area.tabIndex, taken()]).toEqual([-1, false]);
  rerender(grid(true));
  expect([area.tabIndex, taken()]).toEqual([0, true]);
});

it('a new size applies after the data of earlier writes and before that of later ones', async () => {
  const steps: string[] = [];
  const resize = vi
    .spyOn(Terminal.prototype, 'resize')
    .mockImplementation((cols, rows) => void steps.push(`${cols}×${rows}`));
  const grid = createRef<GridHandle>();
  render(<Grid ref={grid} cols={20} rows={5} scale="full" palette={dark} typing label="Agent" />);
  grid.current?.write('old', () => steps.push('old'));
  grid.current?.resize(30, 6);
  await act(() => new Promise<void>((resolve) => grid.current?.write('new', resolve)));
  expect(steps).toEqual(['old', '30×6']);
  resize.mockRestore();
});
