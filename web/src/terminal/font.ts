import { useEffect, useState } from 'react';

const systems = 'ui-monospace, "SF Mono", Menlo, Consolas, "Liberation Mono", monospace';
const shipped = '"JetBrains Mono"';
const needed = [`1em ${shipped}`, `bold 1em ${shipped}`];

/**
 * useFont is the fonts of a terminal's cells. A terminal measures a cell when it is told of a font, so it is told of the
 * shipped one when that is there.
 */
export function useFont(): string {
  const [there, setThere] = useState(() => needed.every((font) => document.fonts?.check(font)));
  useEffect(() => {
    if (there || !document.fonts) return;
    let wanted = true;
    void Promise.all(needed.map((font) => document.fonts.load(font))).then(
      (faces) => wanted && setThere(faces.every((each) => each.length > 0)),
      () => {}, // it stays with the system's
    );
    return () => {
      wanted = false;
    };
  }, [there]);
  return there ? `${shipped}, ${systems}` : systems;
}
