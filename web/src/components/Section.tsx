import type { ReactNode } from 'react';

/** Section is a titled card of settings. */
export function Section({
  title,
  about,
  children,
}: {
  title: string;
  about?: ReactNode;
  children: ReactNode;
}) {
  return (
    <section className="flex flex-col gap-3">
      <div>
        <h2 className="text-sm font-semibold">{title}</h2>
        {about && <p className="text-xs text-ink-3">{about}</p>}
      </div>
      <div className="flex flex-col gap-4 rounded-xl bg-panel p-4 shadow-1 ring-1 ring-line">{children}</div>
    </section>
  );
}
