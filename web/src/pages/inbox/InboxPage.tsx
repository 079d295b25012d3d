import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { Inbox } from 'lucide-react';
import { useEffect, useRef, useState } from 'react';
import { messageOf } from '@/api/error';
import type { InboxItem } from '@/api/schema.gen';
import { PageHeader } from '@/components/PageHeader';
import { useSetAside } from '@/data/actions';
import { inboxQuery } from '@/data/queries';
import { useShortcuts } from '@/lib/shortcuts';
import { useTitle } from '@/lib/title';
import { Button } from '@/ui/Button';
import { EmptyState, ErrorState, Loading, Skeleton } from '@/ui/States';
import { toast } from '@/ui/toast';
import { InboxRow } from './InboxRow';
import { linkOf } from './link';

const nothing: InboxItem[] = [];

/** InboxPage shows everything that needs a person, newest first. An entry disappears when its cause is gone. */
export function InboxPage() {
  useTitle('Inbox');
  const { snoozed = false } = useSearch({ from: '/shell/inbox' });
  const navigate = useNavigate({ from: '/inbox' });
  const query = useQuery(inboxQuery(snoozed));
  const { data: items = nothing, error, isPending } = query;
  const setAside = useSetAside();
  const [chosen, setChosen] = useState<string | null>(null);
  const list = useRef<HTMLUListElement>(null);
  const index = items.findIndex((item) => item.key === chosen);

  const dismiss = (item: InboxItem): void =>
    setAside.mutate(
      { key: item.key },
      {
        onSuccess: () => toast(`“${item.title}” is done`),
        onError: (failed) => toast.error(messageOf(failed)),
      },
    );
  const snooze = (item: InboxItem, until: Date): void =>
    setAside.mutate(
      { key: item.key, until: until.toISOString() },
      { onError: (failed) => toast.error(messageOf(failed)) },
    );
  const step = (by: number): void => {
    const next = items[Math.min(Math.max(index + by, 0), items.length - 1)];
    if (next) setChosen(next.key);
  };
  const withChosen = (act: (item: InboxItem) => void) => (): void => {
    const item = items[index];
    if (item) act(item);
  };
  const inChosen = (what: string): HTMLElement | null | undefined =>
    list.current?.querySelector<HTMLElement>(`[aria-current="true"] ${what}`);
  useShortcuts({
    j: () => step(1),
    k: () => step(index < 0 ? 1 : -1),
    e: withChosen((item) => {
      step(index === items.length - 1 ? -1 : 1);
      dismiss(item);
    }),
    o: withChosen((item) => void navigate(linkOf(item))),
    a: () => inChosen('input')?.focus(),
    r: () => inChosen('[data-again]')?.click(),
  });
  useEffect(() => {
    if (chosen)
      list.current?.querySelector<HTMLElement>('[aria-current="true"]')?.scrollIntoView({ block: 'nearest' });
  }, [chosen]);

  return (
    <>
      <PageHeader title="Inbox">
        <Button
          size="sm"
          variant={snoozed ? 'secondary' : 'ghost'}
          aria-pressed={snoozed}
          onClick={() => void navigate({ search: snoozed ? {} : { snoozed: true }, replace: true })}
        >
          Snoozed too
        </Button>
      </PageHeader>
      {isPending ? (
        <Loading label="Loading the inbox" className="flex flex-col gap-2 p-4 sm:p-5">
          {['a', 'b', 'c'].map((key) => (
            <Skeleton key={key} className="h-16" />
          ))}
        </Loading>
      ) : error && items.length === 0 ? (
        <ErrorState
          title="The inbox could not be read"
          message={messageOf(error)}
          retry={() => void query.refetch()}
          className="pt-[12vh]"
        />
      ) : items.length === 0 ? (
        <EmptyState icon={<Inbox className="size-5" />} title="Nothing needs you" className="pt-[12vh]">
          Questions of agents, failed runs, changes to review and hosts with problems appear here. Each
          disappears when it is dealt with.
        </EmptyState>
      ) : (
        <ul ref={list} className="min-h-0 flex-1 overflow-y-auto">
          {items.map((item) => (
            <InboxRow
              key={item.key}
              item={item}
              chosen={item.key === chosen}
              onDismiss={() => dismiss(item)}
              onSnooze={(until) => snooze(item, until)}
            />
          ))}
        </ul>
      )}
    </>
  );
}
