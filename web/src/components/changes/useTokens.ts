import { useEffect, useState } from 'react';
import { highlighter } from '@/lib/highlight/highlight';
import { languageOf } from '@/lib/highlight/languages';
import type { Token } from '@/lib/highlight/tokens';
import { blocksOf, type Row } from '@/lib/patch';

/** The maximal size of a patch that is highlighted, in characters. */
const most = 200_000;

/** Tokens has the highlighted lines by the index of their rows. The other lines are not highlighted. */
export type Tokens = ReadonlyMap<number, Token[]>;

const plain: Tokens = new Map();

/** useTokens returns the highlighted lines of a patch. The file's name selects the language. Initially it is empty. */
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
