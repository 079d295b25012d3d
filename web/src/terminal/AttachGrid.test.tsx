import { act, fireEvent, render, screen } from '@testing-library/react';
import { expect, it, vi } from 'vitest';
import { create } from 'zustand';
import AttachGrid from './AttachGrid';
import { Attachment, type AttachState, toBase64 } from './attach';
import type { GridProps } from './gridProps';
import { begin } from './lease';
import { dark } from './palette';

const drawn = vi.hoisted(() => [] as string[]);
const received = vi.hoisted(() => [] as ((frame: string) => void)[]);

// The real grid needs a browser. Here it is replaced by a field that can have the focus, and notes what is drawn.
vi.mock('./Grid', async () => {
  const { useImperativeHandle, useRef } = await import('react');
  return {
    default: function Grid({ ref, label }: GridProps) {
      const area = useRef<HTMLTextAreaElement>(null);
      useImperativeHandle(
        ref,
        () => ({
          write: (data) => drawn.push(typeof data === 'string' ? data : new TextDecoder().decode(data)),
          resize: (cols, rows) => drawn.push(`${cols}×${rows}`),
          focus: () => area.current?.focus(),
        }),
        [],
      );
      return <textarea ref={area} aria-label={label} />;
    },
  };
});

vi.mock('./socket', () => ({
  socketUrl: () => '',
  LiveSocket: class {
    constructor(_: () => string, { message }: { message(frame: string): void }) {
      received.push(message);
    }
    close(): void {}
  },
}));

const attachment = {
  store: create<AttachState>(() => ({ lease: { ...begin, phase: 'holder' }, size: null, watchers: null })),
  onData: () => () => {},
  onSize: () => () => {},
  type: () => {},
} as unknown as Attachment;

it('the focus returns to the terminal after a click on a button, before the button acts', async () => {
  const focused: (Element | null)[] = [];
  render(
    <>
      <button type="button" onClick={() => focused.push(document.activeElement)}>
        100 %
      </button>
      <input aria-label="Search" />
      <AttachGrid attachment={attachment} seed="" scale="fit" palette={dark} onDetach={() => {}} />
    </>,
  );
  const terminal = screen.getByLabelText(/^Terminal, attached/);
  expect(document.activeElement).toBe(terminal);
  const button = screen.getByRole('button');
  act(() => button.focus());
  fireEvent.click(button);
  expect(focused).toEqual([terminal]);

  const field = screen.getByLabelText('Search');
  act(() => field.focus());
  fireEvent.click(field);
  expect(document.activeElement).toBe(field);
});

it('a new size applies after the output before it, and before the output that is drawn in it', () => {
  const own = new Attachment('run');
  const [receive] = received.slice(-1);
  const size = (cols: number, rows: number) => receive?.(JSON.stringify({ type: 'resize', cols, rows }));
  const data = (text: string) =>
    receive?.(JSON.stringify({ type: 'data', bytes: toBase64(new TextEncoder().encode(text)) }));
  size(100, 30);
  drawn.length = 0;
  render(<AttachGrid attachment={own} seed="" scale="fit" palette={dark} onDetach={() => {}} />);
  expect(drawn.splice(0).at(-1)).toBe('100×30');
  act(() => {
    data('old');
    size(120, 40);
    data('new');
    size(120, 40);
  });
  expect(drawn).toEqual(['old', '120×40', 'new', '120×40']);
});
