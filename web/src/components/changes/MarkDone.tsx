import { useQuery } from '@tanstack/react-query';
import { Check } from 'lucide-react';
import { messageOf } from '@/api/error';
import { useUpdateItem } from '@/data/actions';
import { workItemQuery } from '@/data/queries';
import { useMay } from '@/data/role';
import { Button } from '@/ui/Button';
import { toast } from '@/ui/toast';

/**
 * MarkDone offers to mark a task as done after its work was landed, because landing does not change the task's status.
 */
export function MarkDone({ taskId }: { taskId: string }) {
  const { data: item } = useQuery(workItemQuery(taskId));
  const may = useMay('operator');
  const update = useUpdateItem();
  if (!item || item.status === 'done' || item.status === 'cancelled' || may === false) return null;
  const onError = (error: unknown): void => toast.error(messageOf(error));
  const undo = (): void => update.mutate({ id: item.id, patch: { status: item.status } }, { onError });
  const mark = (): void =>
    update.mutate(
      { id: item.id, patch: { status: 'done' } },
      {
        onError,
        onSuccess: () =>
          toast.success(`“${item.title}” is in Done`, { action: { label: 'Undo', onClick: undo } }),
      },
    );
  return (
    <Button
      size="sm"
      variant="primary"
      busy={update.isPending}
      icon={<Check className="size-3.5" />}
      onClick={mark}
    >
      Mark the task done
    </Button>
  );
}
