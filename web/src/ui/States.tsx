import { RotateCw, TriangleAlert } from 'lucide-react';
import type { ReactNode } from 'react';
import { Button } from './Button';
import { cx } from './cx';

/** Skeleton is a placeholder for data that is loading. */
export function Skeleton({ className }: { className?: string }) {
  return <div aria-hidden className={cx('animate-shimmer rounded-md bg-hover', className)} />;
}

/** Loading wraps skeletons so that a screen reader reads one word instead of many boxes. */
export function Loading({
  label = 'Loading',
  className,
  children,
}: {
  label?: string;
  className?: string;
  children: ReactNode;
}) {
  return (
    <div role="status" aria-label={label} className={className}>
      {children}
    </div>
  );
}

/** EmptyState explains what would be here, why it is not, and the next step. */
export function EmptyState({
  icon,
  title,
  children,
  action,
  className,
  page,
}: {
  icon?: ReactNode;
  title: string;
  children?: ReactNode;
  action?: ReactNode;
  className?: string;
  /** Whether it is the whole page. Then its title is the page's heading. */
  page?: boolean;
}) {
  const Title = page ? 'h1' : 'h2';
  return (
    <div className={cx('mx-auto flex max-w-md flex-col items-center px-6 py-14 text-center', className)}>
      {icon && (
        <div className="mb-4 flex size-11 items-center justify-center rounded-xl bg-raised text-ink-2 shadow-1 ring-1 ring-line">
          {icon}
        </div>
      )}
      <Title className="text-lg font-semibold tracking-tight">{title}</Title>
      {children && <div className="mt-1 text-sm text-pretty text-ink-2">{children}</div>}
      {action && <div className="mt-5 flex gap-2">{action}</div>}
    </div>
  );
}

/** ErrorState shows what went wrong and offers to try again. */
export function ErrorState({
  title,
  message,
  retry,
  className,
  page,
}: {
  title: string;
  message: string;
  retry?(): void;
  className?: string;
  page?: boolean;
}) {
  return (
    <div role="alert" className={className}>
      <EmptyState
        icon={<TriangleAlert className="size-5 text-bad" />}
        title={title}
        page={page}
        action={
          retry && (
            <Button icon={<RotateCw className="size-3.5" />} onClick={retry}>
              Try again
            </Button>
          )
        }
      >
        {message}
      </EmptyState>
    </div>
  );
}
