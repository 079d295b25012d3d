import { useQuery } from '@tanstack/react-query';
import { messageOf } from '@/api/error';
import type { Workspace } from '@/api/schema.gen';
import { taskWorkspacesQuery, useWant } from '@/data/changes';
import { Button } from '@/ui/Button';
import { toast } from '@/ui/toast';

/**
 * othersOf returns the other working copies of the task that can be discarded after one was landed: no run uses them.
 */
export const othersOf = (landed: Workspace, copies: readonly Workspace[]): Workspace[] =>
  copies.filter(
    (copy) =>
      copy.id !== landed.id &&
      copy.discarded_at === null &&
      copy.landed_commit === '' &&
      ['ready', 'failed', 'missing'].includes(copy.state),
  );

/** DiscardOthers offers to discard the other attempts at a task after one of them was landed. */
export function DiscardOthers({ landed }: { landed: Workspace }) {
  const { data: copies = [] } = useQuery(taskWorkspacesQuery(landed.task_id));
  const want = useWant();
  const ids = othersOf(landed, copies).map(({ id }) => id);
  if (ids.length === 0) return null;
  const onError = (error: unknown): void => toast.error(messageOf(error));
  const discard = (): void =>
    want.mutate(
      { ids, wanted: false },
      {
        onError,
        onSuccess: () =>
          toast.success(
            ids.length === 1 ? 'The other one is discarded' : `${ids.length} others are discarded`,
            {
              description: 'They can be restored until they are removed from their hosts.',
              action: { label: 'Undo', onClick: () => want.mutate({ ids, wanted: true }, { onError }) },
            },
          ),
      },
    );
  return (
    <Button size="sm" busy={want.isPending} onClick={discard}>
      {ids.length === 1 ? 'Discard the other working copy' : `Discard the ${ids.length} other working copies`}
    </Button>
  );
}
