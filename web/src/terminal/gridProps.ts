import type { Ref } from 'react';
import type { Palette } from './palette';

/** GridHandle writes into the terminal. */
export interface GridHandle {
  /** write draws; done is called when it is drawn. */
  write(data: string | Uint8Array, done?: () => void): void;
  /** resize gives the terminal another size than that of its props, at once. */
  resize(cols: number, rows: number): void;
  focus(): void;
}

/** Fitting is what a grid learned about its room. */
export interface Fitting {
  /** The font's size in px. */
  font: number;
  /** The grid that would fill the room at 100 %. */
  cols: number;
  rows: number;
}

/** GridProps are those of the terminal grid, which is loaded only where it is shown. */
export interface GridProps {
  cols: number;
  rows: number;
  scale: 'fit' | 'full';
  palette: Palette;
  /** Whether keys go to the agent. */
  typing: boolean;
  label: string;
  onType?(data: string): void;
  onScale?(fitting: Fitting): void;
  ref?: Ref<GridHandle>;
}
