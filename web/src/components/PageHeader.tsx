import type { ReactNode } from 'react';

/** PageHeader is the line on top of a page: what it is, and what can be done. */
export function PageHeader({
  title,
  children,
  lead,
}: {
  title: string;
  lead?: ReactNode;
  children?: ReactNode;
}) {
  return (
    <header className="flex min-h-13 flex-wrap items-center gap-x-3 gap-y-2 border-b px-4 py-2 sm:px-5">
      <h1 className="truncate text-base font-semibold tracking-tight">{title}</h1>
      {lead}
      <div className="flex grow items-center justify-end gap-1.5">{children}</div>
    </header>
  );
}
