import type { Token } from '@/lib/highlight/tokens';

const inks: Record<string, string> = {
  attr: 'text-info',
  attribute: 'text-info',
  built_in: 'text-warn',
  bullet: 'text-violet',
  comment: 'text-ink-2 italic',
  doctag: 'text-ink-2 italic',
  keyword: 'text-violet',
  literal: 'text-info',
  meta: 'text-ink-2',
  name: 'text-violet',
  number: 'text-info',
  quote: 'text-ink-2 italic',
  regexp: 'text-ok',
  section: 'text-accent',
  'selector-class': 'text-accent',
  'selector-tag': 'text-violet',
  string: 'text-ok',
  symbol: 'text-info',
  tag: 'text-ink-2',
  title: 'text-accent',
  type: 'text-warn',
};

/** Code shows a line of code. Without tokens it is not highlighted. */
export function Code({ text, tokens }: { text: string; tokens?: Token[] }) {
  if (!tokens) return text;
  return tokens.map((token, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: tokens have no identity but their place
    <span key={index} className={token.kind ? inks[token.kind] : undefined}>
      {token.text}
    </span>
  ));
}
