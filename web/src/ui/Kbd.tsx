import { cx } from './cx';

const apple = typeof navigator !== 'undefined' && /Mac|iPhone|iPad/.test(navigator.userAgent);

/** Kbd shows keys. + joins keys that are pressed together, and a space separates keys that are pressed in turn. */
export function Kbd({ keys, className }: { keys: string; className?: string }) {
  const shown = apple ? keys.replace('Ctrl', '⌘') : keys;
  return (
    <span aria-hidden className={cx('inline-flex gap-1', className)}>
      {shown.split(' ').map((key) => (
        <kbd
          key={key}
          className="inline-flex h-4.5 min-w-4.5 items-center justify-center rounded bg-sunken px-1 font-sans text-2xs text-ink-2 ring-1 ring-inset ring-line-strong"
        >
          {key}
        </kbd>
      ))}
    </span>
  );
}
