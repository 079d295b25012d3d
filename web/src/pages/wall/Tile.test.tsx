import { act, fireEvent, render, screen } from '@testing-library/react';
import { beforeEach, expect, it, vi } from 'vitest';
import { run } from '@/live/fixtures';
import { dark } from '@/terminal/palette';
import { tilesOf } from './arrange';
import { Tile } from './Tile';

let scroll: (inSight: boolean) => void = () => {};
const sockets: { url: string; closed: boolean }[] = [];

beforeEach(() => {
  sockets.length = 0;
  vi.stubGlobal(
    'IntersectionObserver',
    class {
      constructor(callback: (entries: { isIntersecting: boolean }[]) => void) {
        scroll = (isIntersecting) => callback([{ isIntersecting }]);
      }
      observe(): void {}
      disconnect(): void {}
    },
  );
  vi.stubGlobal(
    'WebSocket',
    class {
      readonly entry: { url: string; closed: boolean };
      constructor(url: string) {
        this.entry = { url, closed: false };
        sockets.push(this.entry);
      }
      close(): void {
        this.entry.closed = true;
      }
    },
  );
});

it('follows its run only while it is in sight', () => {
  const onOpen = vi.fn();
  render(<Tile run={run('r', { task_title: 'Paint' })} palette={dark} onOpen={onOpen} />);
  expect(sockets).toEqual([]);
  act(() => scroll(true));
  expect(sockets.map(({ url }) => new URL(url).pathname)).toEqual(['/api/v1/runs/r/pane/ws']);
  act(() => scroll(false));
  expect(sockets).toMatchObject([{ closed: true }]);
  fireEvent.click(screen.getByRole('button', { name: /Paint/ }));
  expect(onOpen).toHaveBeenCalledWith('r');
});

it('follows nothing while the tab is hidden', () => {
  const hidden = vi.spyOn(document, 'visibilityState', 'get');
  render(<Tile run={run('r')} palette={dark} onOpen={() => {}} />);
  act(() => scroll(true));
  hidden.mockReturnValue('hidden');
  act(() => void document.dispatchEvent(new Event('visibilitychange')));
  expect(sockets).toMatchObject([{ closed: true }]);
  hidden.mockReturnValue('visible');
  act(() => void document.dispatchEvent(new Event('visibilitychange')));
  expect(sockets).toHaveLength(2);
});

it('a wall shows what runs, those that need someone first, and of a selection only its own', () => {
  const runs = [
    run('old', { created_at: '1' }),
    run('new', { created_at: '3' }),
    run('asks', { created_at: '2', needs_input: true }),
    run('waits', { status: 'pending' }),
  ];
  expect(tilesOf(runs).map(({ id }) => id)).toEqual(['asks', 'new', 'old']);
  expect(tilesOf(runs, ['old', 'waits']).map(({ id }) => id)).toEqual(['old']);
});
