import type { ReactNode } from 'react';
import { CopyButton } from '@/ui/Copy';

/** Facts is a list of names and values. */
export function Facts({ children }: { children: ReactNode }) {
  return <dl className="grid grid-cols-[minmax(6rem,9rem)_1fr] gap-x-4 gap-y-2 text-sm">{children}</dl>;
}

/** Fact is one name with its value. */
export function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <>
      <dt className="text-ink-3">{name}</dt>
      <dd className="min-w-0 break-words">{children}</dd>
    </>
  );
}

/** Mono shows a text that people copy: an id, a path, a command. */
export function Mono({ text }: { text: string }) {
  return (
    <span className="flex items-start gap-1">
      <code className="min-w-0 font-mono text-xs leading-5 break-all whitespace-pre-wrap">{text}</code>
      <span className="-my-1 shrink-0">
        <CopyButton text={text} />
      </span>
    </span>
  );
}
