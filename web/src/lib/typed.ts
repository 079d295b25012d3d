import { useCallback, useEffect, useRef, useState } from 'react';

/**
 * useTyped holds the text of a field that is also stored elsewhere, such as in the address, where each change arrives a
 * moment later. A value from there that was not typed here, for example after a link or Back, replaces the text.
 */
export function useTyped(kept: string, keep: (text: string) => void): [string, (text: string) => void] {
  const [text, setText] = useState(kept);
  const underWay = useRef<string[]>([]);
  const latest = useRef(keep);
  latest.current = keep;
  useEffect(() => {
    const at = underWay.current.lastIndexOf(kept);
    underWay.current.splice(0, at + 1);
    if (at < 0) setText(kept);
  }, [kept]);
  const type = useCallback((next: string) => {
    underWay.current.push(next);
    setText(next);
    latest.current(next);
  }, []);
  return [text, type];
}
