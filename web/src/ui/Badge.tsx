import type { HTMLAttributes, ReactNode } from 'react';
import { cx } from './cx';

/** Tone is the meaning of a colour. The words beside the colour have the same meaning. */
export type Tone = 'neutral' | 'accent' | 'ok' | 'warn' | 'bad' | 'info' | 'violet';

/** tones has the CSS class for each tone. */
export const tones: Record<Tone, string> = {
  neutral: 'tone-ink-2',
  accent: 'tone-accent',
  ok: 'tone-ok',
  warn: 'tone-warn',
  bad: 'tone-bad',
  info: 'tone-info',
  violet: 'tone-violet',
};

/** Badge shows a short fact. */
export function Badge({
  tone = 'neutral',
  icon,
  className,
  children,
  ...rest
}: HTMLAttributes<HTMLSpanElement> & { tone?: Tone; icon?: ReactNode }) {
  return (
    <span
      {...rest}
      className={cx(
        'inline-flex h-5 max-w-full items-center gap-1 rounded px-1.5 text-2xs font-medium',
        tones[tone],
        className,
      )}
    >
      {icon}
      <span className="truncate">{children}</span>
    </span>
  );
}

/**
 * StatusPill shows a status as an icon and a word in a tone. stale: the status was observed too long ago to be trusted.
 */
export function StatusPill({
  tone,
  icon,
  stale,
  className,
  children,
  ...rest
}: HTMLAttributes<HTMLSpanElement> & { tone: Tone; icon?: ReactNode; stale?: boolean }) {
  return (
    <span
      {...rest}
      data-stale={stale || undefined}
      className={cx(
        'inline-flex h-5.5 items-center gap-1.5 whitespace-nowrap rounded-full px-2 text-xs font-medium toned-edge',
        tones[tone],
        stale && 'border border-dashed border-current opacity-70 shadow-none',
        className,
      )}
    >
      {icon}
      {children}
    </span>
  );
}
