import { act, fireEvent, render, screen } from '@testing-library/react';
import { expect, it, vi } from 'vitest';
import { create } from 'zustand';
import AttachGrid from './AttachGrid';
import type { Attachment, AttachState } from './attach';
import type { GridProps } from './gridProps';
import { begin } from './lease';
import { dark } from './palette';

// The real grid needs a browser. Here it is replaced by a field that can have the focus.
vi.mock('./Grid', async () => {
  const { useImperativeHandle, useRef } = await import('react');
  return {
    default: function Grid({ ref, label }: GridProps) {
      const area = useRef<HTMLTextAreaElement>(null);
      useImperativeHandle(
        ref,
        () => ({ write: () => {}, resize: () => {}, focus: () => area.current?.focus() }),
        [],
      );
      return <textarea ref={area} aria-label={label} />;
    },
  };
});

const attachment = {
  store: create<AttachState>(() => ({ lease: { ...begin, phase: 'holder' }, size: null, watchers: null })),
  onData: () => () => {},
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
