import type { ReactNode } from 'react';
import { cx } from '@/ui/cx';

/** PageHeader is the line on top of a page: what it is, and what can be done. */
export function PageHeader({
  title,
  children,
  lead,
  search,
}: {
  title: string;
  lead?: ReactNode;
  /** A field that has, on a phone, the line of the title; the rest is then one line below that is scrolled. */
  search?: ReactNode;
  children?: ReactNode;
}) {
  return (
    <header className="flex min-h-13 flex-wrap items-center gap-x-3 gap-y-2 border-b px-4 py-2 sm:px-5">
      <h1 className="truncate text-base font-semibold tracking-tight">{title}</h1>
      {lead}
      {search && <div className="grow sm:ml-auto sm:w-44 sm:grow-0">{search}</div>}
      <div
        className={cx(
          'flex items-center gap-1.5',
          search
            ? 'flex-wrap max-sm:-mx-4 max-sm:w-screen max-sm:flex-nowrap max-sm:overflow-x-auto max-sm:px-4'
            : 'grow justify-end',
        )}
      >
        {children}
      </div>
    </header>
  );
}
