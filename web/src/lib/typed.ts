import { useCallback, useEffect, useRef, useState } from 'react';

/**
 * useTyped is the text of a field that is kept elsewhere too, such as in the address, where it arrives a moment later.
 * What comes from there and was not typed here, as with a link or Back, takes the place of the text.
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
