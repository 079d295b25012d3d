import { useEffect, useState } from 'react';

const systems = 'ui-monospace, "SF Mono", Menlo, Consolas, "Liberation Mono", monospace';
const shipped = '"JetBrains Mono"';
const needed = [`1em ${shipped}`, `bold 1em ${shipped}`];

/**
 * useFont returns the font family for a terminal's cells. A terminal measures its cells when the family changes, so the
 * shipped font is added only after it has loaded.
 */
export function useFont(): string {
  const [there, setThere] = useState(() => needed.every((font) => document.fonts?.check(font)));
  useEffect(() => {
    if (there || !document.fonts) return;
    let wanted = true;
    void Promise.all(needed.map((font) => document.fonts.load(font))).then(
      (faces) => wanted && setThere(faces.every((each) => each.length > 0)),
      () => {}, // the system's font remains in use
    );
    return () => {
      wanted = false;
    };
  }, [there]);
  return there ? `${shipped}, ${systems}` : systems;
}
