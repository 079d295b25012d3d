import { RadioGroup as Radix } from 'radix-ui';
import type { ReactNode } from 'react';

/** Segmented is a choice between a few options that are all visible. */
export function Segmented<T extends string>({
  label,
  value,
  onChange,
  options,
}: {
  label: string;
  value: T;
  onChange(value: T): void;
  options: { value: T; label: string; icon?: ReactNode }[];
}) {
  return (
    <Radix.Root
      aria-label={label}
      value={value}
      onValueChange={(next) => onChange(next as T)}
      orientation="horizontal"
      className="inline-flex rounded-lg bg-sunken p-0.5 ring-1 ring-inset ring-line"
    >
      {options.map((option) => (
        <Radix.Item
          key={option.value}
          value={option.value}
          className="flex h-7 items-center gap-1.5 rounded-md px-2.5 text-xs font-medium text-ink-2 transition-colors hover:text-ink data-[state=checked]:bg-raised data-[state=checked]:text-ink data-[state=checked]:shadow-1 data-[state=checked]:ring-1 data-[state=checked]:ring-line-strong"
        >
          {option.icon}
          {option.label}
        </Radix.Item>
      ))}
    </Radix.Root>
  );
}
