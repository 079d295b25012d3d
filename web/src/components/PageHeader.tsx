import type { ReactNode } from 'react';
import { cx } from '@/ui/cx';

/** PageHeader is the first line of a page: its title and its actions. */
export function PageHeader({
  title,
  children,
  lead,
  search,
}: {
  title: string;
  lead?: ReactNode;
  /** A search field. On a phone it is in the line of the title, and the other controls scroll in a line below. */
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
