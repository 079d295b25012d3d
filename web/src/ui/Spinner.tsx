import { LoaderCircle } from 'lucide-react';
import { cx } from './cx';

/** Spinner shows that an operation is in progress. */
export function Spinner({ className }: { className?: string }) {
  return <LoaderCircle aria-hidden className={cx('size-3.5 animate-spin', className)} />;
}
