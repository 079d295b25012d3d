import { ChevronDown } from 'lucide-react';
import { Switch as RadixSwitch } from 'radix-ui';
import {
  type InputHTMLAttributes,
  type ReactNode,
  type Ref,
  type SelectHTMLAttributes,
  type TextareaHTMLAttributes,
  useId,
} from 'react';
import { cx } from './cx';

const control =
  'w-full rounded-md bg-panel dark:bg-sunken px-2.5 text-sm text-ink ring-1 ring-inset ring-line-strong transition-shadow placeholder:text-ink-3 hover:ring-ink-3/60 focus:outline-2 focus:-outline-offset-1 focus:outline-accent disabled:opacity-60 aria-invalid:ring-bad';

/** Field adds a label, a hint and an error to one control, and links them for screen readers. */
export function Field({
  label,
  hint,
  error,
  optional,
  children,
}: {
  label: string;
  hint?: ReactNode;
  error?: string | null;
  optional?: boolean;
  children(ids: {
    id: string;
    'aria-describedby': string | undefined;
    'aria-invalid': boolean | undefined;
  }): ReactNode;
}) {
  const id = useId();
  const described = error || hint ? `${id}-about` : undefined;
  return (
    <div className="flex flex-col gap-1.5">
      <label htmlFor={id} className="flex items-baseline gap-1.5 text-xs font-medium text-ink-2">
        {label}
        {optional && <span className="font-normal text-ink-3">optional</span>}
      </label>
      {children({ id, 'aria-describedby': described, 'aria-invalid': error ? true : undefined })}
      {(error || hint) && (
        <p id={described} className={cx('text-xs', error ? 'text-bad' : 'text-ink-3')}>
          {error || hint}
        </p>
      )}
    </div>
  );
}

/** Input is a field for one line of text. */
export function Input({
  className,
  ref,
  ...rest
}: InputHTMLAttributes<HTMLInputElement> & { ref?: Ref<HTMLInputElement> }) {
  return (
    <input
      ref={ref}
      autoComplete="off"
      spellCheck={false}
      {...rest}
      className={cx(control, 'h-8', className)}
    />
  );
}

/** Textarea is a field for several lines of text. It grows with its text where the browser supports that. */
export function Textarea({
  className,
  ...rest
}: TextareaHTMLAttributes<HTMLTextAreaElement> & { ref?: Ref<HTMLTextAreaElement> }) {
  return (
    <textarea
      rows={3}
      {...rest}
      className={cx(
        control,
        'field-sizing-content max-h-96 min-h-20 resize-y py-1.5 leading-relaxed',
        className,
      )}
    />
  );
}

/** Select is the browser's own select element: it works on every phone and with every screen reader. */
export function Select({ className, children, ...rest }: SelectHTMLAttributes<HTMLSelectElement>) {
  return (
    <span className="relative block">
      <select {...rest} className={cx(control, 'h-8 appearance-none pr-8', className)}>
        {children}
      </select>
      <ChevronDown aria-hidden className="pointer-events-none absolute top-2 right-2.5 size-4 text-ink-3" />
    </span>
  );
}

/** Switch turns one thing on or off. */
export function Switch({
  checked,
  onChange,
  label,
  hint,
  disabled,
}: {
  checked: boolean;
  onChange(checked: boolean): void;
  label: string;
  hint?: ReactNode;
  disabled?: boolean;
}) {
  const id = useId();
  return (
    <div className="flex items-start justify-between gap-4">
      <label htmlFor={id} className="min-w-0 flex-1">
        <span className="block text-sm">{label}</span>
        {hint && <span className="block text-xs text-ink-3">{hint}</span>}
      </label>
      <RadixSwitch.Root
        id={id}
        checked={checked}
        onCheckedChange={onChange}
        disabled={disabled}
        className="relative mt-0.5 h-5 w-9 shrink-0 rounded-full bg-line-strong transition-colors disabled:opacity-50 data-[state=checked]:bg-accent-fill"
      >
        <RadixSwitch.Thumb className="block size-4 translate-x-0.5 rounded-full bg-white shadow-1 transition-transform data-[state=checked]:translate-x-[1.125rem]" />
      </RadixSwitch.Root>
    </div>
  );
}
