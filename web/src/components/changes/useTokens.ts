import { useEffect, useState } from 'react';
import { highlighter } from '@/lib/highlight/highlight';
import { languageOf } from '@/lib/highlight/languages';
import type { Token } from '@/lib/highlight/tokens';
import { blocksOf, type Row } from '@/lib/patch';

/** How much of a file's patch is highlighted at most, in characters. */
const most = 200_000;

/** Tokens is the highlighted lines by their rows' places; the others are plain. */
export type Tokens = ReadonlyMap<number, Token[]>;

const plain: Tokens = new Map();

/** useTokens is a patch's lines as code of the language that the file's name tells. Until they are read they are plain. */
export function useTokens(path: string, rows: Row[]): Tokens {
  const [read, setRead] = useState<{ rows: Row[]; tokens: Tokens } | null>(null);
  useEffect(() => {
    const language = languageOf(path);
    if (!language || rows.reduce((sum, { text }) => sum + text.length, 0) > most) return;
    let wanted = true;
    const blocks = blocksOf(rows);
    void highlighter.read({ language, blocks: blocks.map(({ code }) => code) }).then((answer) => {
      if (!wanted || !answer) return;
      const tokens = new Map<number, Token[]>();
      blocks.forEach((block, i) => {
        block.rows.forEach((place, line) => {
          const found = answer[i]?.[line];
          if (found) tokens.set(place, found);
        });
      });
      setRead({ rows, tokens });
    });
    return () => {
      wanted = false;
    };
  }, [path, rows]);
  return read?.rows === rows ? read.tokens : plain;
}
