import { useQuery } from '@tanstack/react-query';
import { ChevronRight, Ellipsis, Play } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { isCode, messageOf } from '@/api/error';
import { isRunnable, itemRef, type WorkItem } from '@/api/records';
import { workspaceQuery } from '@/data/changes';
import { runsQuery, workItemQuery, workItemsQuery } from '@/data/queries';
import { lazily } from '@/lib/lazily';
import { useShortcuts } from '@/lib/shortcuts';
import { useTitle } from '@/lib/title';
import { Button, IconButton } from '@/ui/Button';
import { cx } from '@/ui/cx';
import { MenuButton } from '@/ui/MenuButton';
import { RelativeTime } from '@/ui/RelativeTime';
import { ErrorState, Loading, Skeleton } from '@/ui/States';
import { Counts } from './Counts';
import { DeleteItemDialog } from './DeleteItemDialog';
import { History } from './History';
import { ItemChildren } from './ItemChildren';
import { ItemMenu } from './ItemMenu';
import { ItemName } from './ItemName';
import { ItemNeeds } from './ItemNeeds';
import { ItemProperties } from './ItemProperties';
import { ItemRuns } from './ItemRuns';
import { ItemDescription, ItemTitle } from './ItemText';
import { NotFound } from './NotFound';
import { openStartRun } from './startRun';
import { KindIcon, kindNames } from './status';
import type { MoveItem } from './useItemMoves';

const CompareRuns = lazily(async () => (await import('./CompareRuns')).CompareRuns);
const Changes = lazily(async () => (await import('./changes/Changes')).Changes);

/** ItemView is one of the views of a work item's page. */
export type ItemView = 'item' | 'changes' | 'compare';

/** isItemView reports whether a text names a view. */
export const isItemView = (text: string | undefined): text is ItemView =>
  text === 'item' || text === 'changes' || text === 'compare';

interface Props {
  id: string;
  view: ItemView;
  onView(view: ItemView): void;
  move: MoveItem;
  /** Buttons beside the item's menu. */
  actions?: ReactNode;
  onOpen(id: string): void;
  onGone(): void;
}

/** ItemDetail shows a whole work item. It is the same in the sheet and on the item's own page. */
export function ItemDetail(props: Props) {
  const { data: item, error, refetch } = useQuery(workItemQuery(props.id));
  if (item) return <Detail {...props} item={item} />;
  if (isCode(error, 'not_found')) return <NotFound what="work item" />;
  if (error)
    return (
      <ErrorState
        title="The item could not be read"
        message={messageOf(error)}
        retry={() => void refetch()}
      />
    );
  return (
    <Loading label="Loading the work item" className="flex flex-col gap-4 p-6">
      <Skeleton className="h-4 w-40" />
      <Skeleton className="h-7 w-4/5" />
      <Skeleton className="h-24" />
      <Skeleton className="h-32" />
    </Loading>
  );
}

function Detail({ item, view, onView, move, actions, onOpen, onGone }: Props & { item: WorkItem }) {
  const [deleting, setDeleting] = useState(false);
  const { data: runs } = useQuery({ ...runsQuery({ task_id: item.id }), enabled: isRunnable(item) });
  const changed = runs?.find((run) => run.workspace_id);
  const several = runs !== undefined && runs.length > 1;
  const other =
    changed && view === 'changes' ? (
      <Changes key={changed.workspace_id} run={changed} />
    ) : several && view === 'compare' ? (
      <CompareRuns taskId={item.id} runs={runs} />
    ) : null;
  useTitle(item.title);
  useShortcuts({ r: () => isRunnable(item) && openStartRun(item) });
  return (
    <>
      <header className="flex min-h-13 items-center gap-1 border-b pr-2.5 pl-5">
        <Ancestors item={item} onOpen={onOpen} />
        <span className="ml-auto flex items-center gap-0.5">
          {isRunnable(item) && (
            <Button
              variant="primary"
              size="sm"
              icon={<Play className="size-3.5 fill-current" />}
              onClick={() => openStartRun(item)}
              className="mr-1"
            >
              Run
            </Button>
          )}
          <MenuButton
            trigger={(props) => (
              <IconButton {...props} label="Actions">
                <Ellipsis className="size-4" />
              </IconButton>
            )}
            menu={(place) => (
              <ItemMenu {...place} item={item} move={move} onDelete={() => setDeleting(true)} />
            )}
          />
          {actions}
        </span>
      </header>
      {other && (
        <h1 className="truncate px-5 pt-2.5 text-base font-semibold tracking-tight">
          <ItemName item={item} />
        </h1>
      )}
      {(changed || several) && (
        <Views copy={changed?.workspace_id} several={several} view={view} onView={onView} />
      )}
      {other ?? (
        <div className="min-h-0 flex-1 overflow-y-auto">
          <div className="mx-auto flex max-w-3xl flex-col gap-6 px-5 py-5">
            <ItemTitle item={item} />
            <ItemProperties item={item} move={move} />
            <ItemDescription item={item} />
            {isRunnable(item) && <ItemRuns item={item} />}
            <ItemNeeds item={item} onOpen={onOpen} />
            <ItemChildren item={item} onOpen={onOpen} />
            <History subject="task_id" id={item.id} since={item.created_at} />
            <p className="text-xs text-ink-3">
              Created <RelativeTime at={item.created_at} />, changed <RelativeTime at={item.updated_at} />
            </p>
          </div>
        </div>
      )}
      {deleting && <DeleteItemDialog item={item} onClose={() => setDeleting(false)} onDeleted={onGone} />}
    </>
  );
}

/** Views switches between the item, the changes in its newest working copy, and the comparison of its runs. */
function Views({
  copy,
  several,
  view,
  onView,
}: {
  copy?: string | null;
  several: boolean;
  view: ItemView;
  onView(view: ItemView): void;
}) {
  const { data } = useQuery({ ...workspaceQuery(copy ?? ''), enabled: Boolean(copy) });
  const tab = (to: ItemView, label: ReactNode) => (
    <button
      type="button"
      aria-current={view === to ? 'page' : undefined}
      onClick={() => onView(to)}
      className={cx(
        '-mb-px border-b-2 px-2 pt-2 pb-2 text-sm font-medium',
        view === to ? 'border-accent text-ink' : 'border-transparent text-ink-3 hover:text-ink',
      )}
    >
      {label}
    </button>
  );
  return (
    <nav aria-label="Views of this item" className="flex gap-1 border-b px-3">
      {tab('item', 'Item')}
      {copy &&
        tab(
          'changes',
          <>
            Changes
            {data && data.files > 0 && (
              <Counts additions={data.additions} deletions={data.deletions} className="ml-1.5 text-2xs" />
            )}
          </>,
        )}
      {several && tab('compare', 'Compare')}
    </nav>
  );
}

function Ancestors({ item, onOpen }: { item: WorkItem; onOpen(id: string): void }) {
  const { data: items = [] } = useQuery(workItemsQuery(item.project_id));
  const ids = item.path.split('/').slice(0, -1);
  const chain = ids.map((id) => items.find((other) => other.id === id)).filter((each) => each !== undefined);
  return (
    <nav aria-label="Parents" className="flex min-w-0 items-center gap-1 text-xs text-ink-3">
      {chain.map((parent) => (
        <span key={parent.id} className="flex min-w-0 items-center gap-1">
          <button
            type="button"
            onClick={() => onOpen(parent.id)}
            className="truncate rounded hover:text-ink hover:underline"
          >
            {parent.title}
          </button>
          <ChevronRight className="size-3 shrink-0" />
        </span>
      ))}
      <span className="flex shrink-0 items-center gap-1.5 text-ink-2">
        <KindIcon kind={item.kind} />
        {kindNames[item.kind]} {itemRef(item)}
      </span>
    </nav>
  );
}
