import { MonitorOff, SquareTerminal } from 'lucide-react';
import { isActive, type Run } from '@/api/records';
import { EmptyState, Skeleton } from '@/ui/States';

/** NoScreen explains why there is no screen. */
export function NoScreen({ run, live }: { run: Run; live: boolean }) {
  if (isActive(run)) {
    return (
      <EmptyState
        icon={<SquareTerminal className="size-5" />}
        title={run.status === 'running' ? 'No screen yet' : 'It has not begun'}
        className="pt-[10vh]"
      >
        {run.status === 'running'
          ? 'The worker sends the screen once a second, when it changes.'
          : 'The terminal appears here as soon as a host has started the session.'}
      </EmptyState>
    );
  }
  if (!live) return <Skeleton className="h-full rounded-none" />;
  return (
    <EmptyState icon={<MonitorOff className="size-5" />} title="It left no screen" className="pt-[10vh]">
      The run ended before its terminal showed anything, or its last screen was removed after its keeping
      time.
    </EmptyState>
  );
}
