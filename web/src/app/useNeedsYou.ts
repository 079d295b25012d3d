import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useEffect, useRef, useState } from 'react';
import { inboxQuery } from '@/data/queries';
import { usePrefs } from '@/lib/prefs';
import { setWaiting } from '@/lib/title';
import { keysOf, type Notice, NoticeGrouper, noticesOf, shown } from './notices';

/**
 * useNeedsYou shows the number of runs that wait for a person in the tab's title. If the user allows it, it shows a
 * notification for a new question or failure, unless this tab shows that run. Many at once are combined in one.
 */
export function useNeedsYou(): void {
  const { data: inbox } = useQuery(inboxQuery(false));
  const notify = usePrefs((prefs) => prefs.notify);
  const navigate = useNavigate();
  const [grouper] = useState(() => new NoticeGrouper());
  const known = useRef<Set<string> | null>(null);
  const count = inbox?.filter((item) => item.kind === 'needs_input').length ?? 0;
  useEffect(() => setWaiting(count), [count]);
  useEffect(() => {
    if (!inbox) return;
    const before = known.current;
    known.current = keysOf(inbox);
    if (!before || !notify) return;
    const fresh = noticesOf(before, inbox).filter(
      ({ runId }) => !shown(document.hidden, window.location.pathname, runId ?? ''),
    );
    for (const notice of grouper.next(fresh, Date.now())) {
      const { runId } = notice;
      show(notice, () =>
        runId
          ? void navigate({ to: '/runs/$runId', params: { runId }, search: {} })
          : void navigate({ to: '/inbox', search: {} }),
      );
    }
  }, [inbox, notify, navigate, grouper]);
}

function show({ runId, title, body }: Notice, open: () => void): void {
  if (typeof Notification === 'undefined' || Notification.permission !== 'granted') return;
  try {
    // One notification per run, and one for several runs. A newer one with the same tag replaces it, even if another tab
    // showed it.
    const notification = new Notification(title, { body, tag: runId ?? 'several' });
    notification.onclick = () => {
      window.focus();
      open();
      notification.close();
    };
  } catch {
    // Some phones support notifications only in service workers. The count in the title remains.
  }
}
