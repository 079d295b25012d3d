import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useEffect, useRef, useState } from 'react';
import { inboxQuery } from '@/data/queries';
import { usePrefs } from '@/lib/prefs';
import { setWaiting } from '@/lib/title';
import { keysOf, type Notice, noticesOf, shown, Teller } from './notices';

/**
 * useNeedsYou counts the runs that wait for someone and puts the count into the tab's title. It may
 * tell what is new, a question or a failure, unless this tab shows that very run. Many at once are told in one.
 */
export function useNeedsYou(): void {
  const { data: inbox } = useQuery(inboxQuery(false));
  const notify = usePrefs((prefs) => prefs.notify);
  const navigate = useNavigate();
  const [teller] = useState(() => new Teller());
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
    for (const notice of teller.next(fresh, Date.now())) {
      const { runId } = notice;
      show(notice, () =>
        runId
          ? void navigate({ to: '/runs/$runId', params: { runId }, search: {} })
          : void navigate({ to: '/inbox', search: {} }),
      );
    }
  }, [inbox, notify, navigate, teller]);
}

function show({ runId, title, body }: Notice, open: () => void): void {
  if (typeof Notification === 'undefined' || Notification.permission !== 'granted') return;
  try {
    // One for each run, and one for several: what it says last replaces what it said before, also from another tab.
    const notification = new Notification(title, { body, tag: runId ?? 'several' });
    notification.onclick = () => {
      window.focus();
      open();
      notification.close();
    };
  } catch {
    // Some phones know notifications only from service workers. The title's count remains.
  }
}
