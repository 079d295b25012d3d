import { LoaderCircle } from 'lucide-react';
import { cx } from './cx';

/** Spinner says that something is under way. */
export function Spinner({ className }: { className?: string }) {
  return <LoaderCircle aria-hidden className={cx('size-3.5 animate-spin', className)} />;
}
