import type { Ref } from 'react';
import type { Palette } from './palette';

/** GridHandle controls the terminal. */
export interface GridHandle {
  /** write draws the data and then calls done. */
  write(data: string | Uint8Array, done?: () => void): void;
  /** resize changes the size, after the data of earlier writes is drawn and before that of later ones. */
  resize(cols: number, rows: number): void;
  focus(): void;
}

/** Fitting is what a grid measured in the available room. */
export interface Fitting {
  /** The font's size in px. */
  font: number;
  /** The size of a grid that would fill the room at 100 %. */
  cols: number;
  rows: number;
}

/** GridProps are the props of the terminal grid, whose code is loaded only where a grid is shown. */
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
