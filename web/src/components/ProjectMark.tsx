import { cx } from '@/ui/cx';

const hues = [277, 245, 200, 158, 95, 65, 25, 345, 305];

/** ProjectMark shows a project's initial on a colour that depends on its name. */
export function ProjectMark({ name, className }: { name: string; className?: string }) {
  const sum = [...name].reduce((total, letter) => total + (letter.codePointAt(0) ?? 0), 0);
  return (
    <span
      aria-hidden
      style={{ background: `oklch(0.52 0.13 ${hues[sum % hues.length]})` }}
      className={cx(
        'flex size-5 shrink-0 items-center justify-center rounded-md text-2xs font-semibold text-white uppercase',
        className,
      )}
    >
      {[...name.trim()][0] ?? '·'}
    </span>
  );
}
