import { useEffect, useMemo, useRef } from 'react';
import { frameOf, gridOf } from './frame';
import Grid from './Grid';
import type { GridHandle } from './gridProps';
import type { Palette } from './palette';

/** WatchGrid shows a run's snapshots. Each snapshot is drawn over the one before it. */
export default function WatchGrid({
  capture,
  scale,
  palette,
}: {
  capture: string;
  scale: 'fit' | 'full';
  palette: Palette;
}) {
  const grid = useRef<GridHandle>(null);
  const { cols, rows } = useMemo(() => gridOf(capture), [capture]);
  useEffect(() => {
    grid.current?.write(frameOf(capture));
  }, [capture]);
  return (
    <Grid
      ref={grid}
      cols={cols}
      rows={rows}
      scale={scale}
      palette={palette}
      typing={false}
      label="Terminal, watched"
    />
  );
}
