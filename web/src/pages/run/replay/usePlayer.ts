import { useCallback, useEffect, useRef, useState } from 'react';
import type { GridHandle } from '@/terminal/gridProps';
import { Playback } from '@/terminal/playback';
import { advance, type Recording } from '@/terminal/recording';

/** usePlayer moves through a recording and draws its position. It is paused at first, and stops at the end. */
export function usePlayer(recording: Recording, start: number, speed: number, skipIdle: boolean) {
  const grid = useRef<GridHandle>(null);
  const playback = useRef<Playback | null>(null);
  const position = useRef(start);
  const [at, setAt] = useState(start);
  const [playing, setPlaying] = useState(false);

  const seek = useCallback(
    (to: number): void => {
      position.current = Math.min(recording.length, Math.max(0, to));
      setAt(position.current);
      void playback.current?.show(position.current);
    },
    [recording],
  );

  useEffect(() => {
    playback.current = grid.current && new Playback(recording, grid.current);
    seek(position.current);
  }, [recording, seek]);

  useEffect(() => {
    if (!playing) return;
    let before = performance.now();
    let frame = requestAnimationFrame(function next(now) {
      // The time of the first frame may be before the effect.
      const passed = Math.max(0, now - before);
      before = now;
      seek(advance(recording, position.current, passed * speed, skipIdle));
      if (position.current >= recording.length) setPlaying(false);
      else frame = requestAnimationFrame(next);
    });
    return () => cancelAnimationFrame(frame);
  }, [playing, recording, speed, skipIdle, seek]);

  const toggle = (): void => {
    if (!playing && position.current >= recording.length) seek(0);
    setPlaying(!playing);
  };
  return { grid, at, playing, seek, toggle };
}
