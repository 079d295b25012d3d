import { useEffect, useRef, useState } from 'react';
import type { Attachment } from './attach';
import { DetachKeys } from './detach';
import { frameOf, spawnCols, spawnRows } from './frame';
import Grid from './Grid';
import type { Fitting, GridHandle } from './gridProps';
import { maySend } from './lease';
import type { Palette } from './palette';

/** AttachGrid is the shared terminal: it shows the live output, and sends keys if the lease allows it. */
export default function AttachGrid({
  attachment,
  seed,
  scale,
  palette,
  onDetach,
  onFitting,
}: {
  attachment: Attachment;
  /** The screen that is shown until the first output arrives. */
  seed: string;
  scale: 'fit' | 'full';
  palette: Palette;
  onDetach(): void;
  onFitting?(fitting: Fitting): void;
}) {
  const grid = useRef<GridHandle>(null);
  const { lease } = attachment.store();
  const [start] = useState(() => attachment.store.getState().size);
  const detach = useRef(onDetach);
  detach.current = onDetach;
  const [first] = useState(seed);
  const keys = useRef<DetachKeys | null>(null);

  useEffect(() => {
    grid.current?.write(frameOf(first));
    grid.current?.focus();
    const own = new DetachKeys(
      (data) => attachment.type(data),
      () => detach.current(),
    );
    keys.current = own;
    const stop = [
      attachment.onData((data) => grid.current?.write(data)),
      attachment.onSize(({ cols, rows }) => grid.current?.resize(cols, rows)),
    ];
    return () => {
      own.drop();
      for (const end of stop) end();
    };
  }, [attachment, first]);

  const { phase } = lease;
  useEffect(() => {
    // Also on the change from holder to free: the button that released the keyboard had the focus and was removed.
    if (maySend({ phase })) grid.current?.focus();
  }, [phase]);

  useEffect(() => {
    // A click on a button takes the focus, and keys would be lost. So the grid gets the focus back before the button
    // acts, and a dialog that the button opens returns the focus to the grid.
    const keep = ({ target }: MouseEvent): void => {
      const elsewhere =
        target instanceof Element && target.closest('input, textarea, select, [role="dialog"]');
      if (!elsewhere && getSelection()?.type !== 'Range') grid.current?.focus();
    };
    document.addEventListener('click', keep, true);
    return () => document.removeEventListener('click', keep, true);
  }, []);

  return (
    <Grid
      ref={grid}
      cols={start?.cols ?? spawnCols}
      rows={start?.rows ?? spawnRows}
      scale={scale}
      palette={palette}
      typing
      label="Terminal, attached. Control backslash, then d, detaches."
      onType={(data) => keys.current?.type(data)}
      onScale={onFitting}
    />
  );
}
