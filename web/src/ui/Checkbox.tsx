import { cx } from './cx';

/** Checkbox selects one row of a list; with Shift, a range of rows. Its label is only for screen readers. */
export function Checkbox({
  label,
  checked,
  onToggle,
  tabIndex,
  className,
}: {
  label: string;
  checked: boolean;
  onToggle(range: boolean): void;
  tabIndex?: number;
  className?: string;
}) {
  return (
    <input
      type="checkbox"
      aria-label={label}
      tabIndex={tabIndex}
      checked={checked}
      onChange={({ nativeEvent }) => onToggle(nativeEvent instanceof MouseEvent && nativeEvent.shiftKey)}
      // A click with Shift would otherwise select text.
      onMouseDown={(event) => event.shiftKey && event.preventDefault()}
      className={cx('m-1 size-4 shrink-0 accent-accent-fill', className)}
    />
  );
}
