import { Link } from '@tanstack/react-router';
import { Compass } from 'lucide-react';
import { useTitle } from '@/lib/title';
import { EmptyState } from '@/ui/States';

/** NotFound is shown when the address names no page or record. */
export function NotFound({ what = 'page' }: { what?: string }) {
  useTitle('Not found');
  return (
    <EmptyState
      page
      icon={<Compass className="size-5" />}
      title={`There is no such ${what}`}
      className="pt-[16vh]"
      action={
        <Link
          to="/"
          className="rounded-md bg-accent-fill px-3 py-1.5 text-sm font-medium text-white hover:bg-accent-fill-hover"
        >
          Go to the board
        </Link>
      }
    >
      It may have been deleted or renamed, or the link is mistyped.
    </EmptyState>
  );
}
