import type { ButtonHTMLAttributes, ReactNode, Ref } from 'react';
import { cx } from './cx';
import { Spinner } from './Spinner';
import { tip } from './Tooltip';

const variants = {
  primary: 'bg-accent-fill text-white shadow-1 hover:bg-accent-fill-hover',
  secondary: 'bg-raised text-ink shadow-1 ring-1 ring-inset ring-line-strong hover:bg-hover',
  ghost: 'text-ink-2 hover:bg-hover hover:text-ink data-[state=open]:bg-hover data-[state=open]:text-ink',
  danger: 'bg-bad-fill text-white shadow-1 hover:brightness-90',
} as const;

const sizes = {
  sm: 'h-7 px-2.5 text-xs gap-1.5',
  md: 'h-8 px-3 text-sm gap-2',
  lg: 'h-10 px-4 text-base gap-2',
} as const;

const base =
  'inline-flex shrink-0 select-none items-center justify-center whitespace-nowrap rounded-md font-medium transition-colors duration-100 disabled:opacity-50 disabled:pointer-events-none';

/** ButtonProps are the props of a button element, with its look and whether it is busy. */
export interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  variant?: keyof typeof variants;
  size?: keyof typeof sizes;
  /** The action is in progress: the button shows it and ignores further clicks. */
  busy?: boolean;
  icon?: ReactNode;
  ref?: Ref<HTMLButtonElement>;
}

/** Button is a button with words. */
export function Button({
  variant = 'secondary',
  size = 'md',
  busy,
  icon,
  className,
  children,
  disabled,
  ...rest
}: ButtonProps) {
  return (
    <button
      type="button"
      {...rest}
      disabled={disabled || busy}
      aria-busy={busy || undefined}
      className={cx(base, variants[variant], sizes[size], className)}
    >
      {busy ? <Spinner /> : icon}
      {children}
    </button>
  );
}

/** IconButton is a button with only an icon. Its label is its accessible name and its tooltip. */
export function IconButton({
  label,
  shortcut,
  variant = 'ghost',
  size = 'md',
  className,
  children,
  ...rest
}: Omit<ButtonProps, 'icon' | 'busy'> & { label: string; shortcut?: string }) {
  return (
    <button
      type="button"
      {...rest}
      {...tip(label, shortcut)}
      aria-label={label}
      className={cx(
        base,
        variants[variant],
        size === 'sm' ? 'size-7' : size === 'lg' ? 'size-10' : 'size-8',
        className,
      )}
    >
      {children}
    </button>
  );
}
