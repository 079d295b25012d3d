import { useQuery } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import type { Run } from '@/api/records';
import { runsQuery } from '@/data/queries';
import { usePrefs } from '@/lib/prefs';
import { setWaiting } from '@/lib/title';

const waiting = (runs: Run[]): Run[] => runs.filter((run) => run.needs_input);

/** useNeedsYou counts the runs that wait for someone, puts the count into the tab's title and may notify. */
export function useNeedsYou(): number {
  const { data: runs = [] } = useQuery({ ...runsQuery({}), select: waiting });
  const notify = usePrefs((prefs) => prefs.notify);
  const told = useRef<Set<string> | null>(null);
  useEffect(() => {
    setWaiting(runs.length);
    const known = told.current;
    told.current = new Set(runs.map((run) => run.id));
    if (!known || !notify || !document.hidden || typeof Notification === 'undefined') return;
    for (const run of runs) {
      if (known.has(run.id)) continue;
      new Notification('A run needs you', { body: run.progress_message ?? run.session_name, tag: run.id });
    }
  }, [runs, notify]);
  return runs.length;
}
