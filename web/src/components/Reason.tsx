import { cx } from '@/ui/cx';

/** headOf returns the first clause of a long reason: the problem, without the paths and the advice after it. */
export function headOf(reason: string): string {
  const head = /^(.*?)(?: in PATH)?(?: \(|; |\n)/s.exec(reason)?.[1]?.trim();
  return head && head.length < reason.length - 20 ? head : reason;
}

/** Reason shows the short form of a reason. A click shows the full text. */
export function Reason({ text, className }: { text: string; className?: string }) {
  const head = headOf(text);
  if (head === text) return <span className={cx('break-words', className)}>{text}</span>;
  return (
    <details className={cx('group min-w-0', className)}>
      <summary className="list-none break-words">
        {head} <span className="whitespace-nowrap text-accent group-open:hidden hover:underline">more</span>
      </summary>
      <p className="mt-1 text-ink-3 [overflow-wrap:anywhere]">{text}</p>
    </details>
  );
}
