import { useState } from 'react';
import { isCode, messageOf } from '@/api/error';
import type { WorkItem } from '@/api/records';
import { useDeleteItem } from '@/data/actions';
import { Button } from '@/ui/Button';
import { Dialog } from '@/ui/Overlay';
import { toast } from '@/ui/toast';

/** DeleteItemDialog asks before an item is deleted, and asks again before everything below it is deleted too. */
export function DeleteItemDialog({
  item,
  onClose,
  onDeleted,
}: {
  item: WorkItem;
  onClose(): void;
  onDeleted?(): void;
}) {
  const remove = useDeleteItem();
  const [recursive, setRecursive] = useState(false);
  const submit = (): void =>
    remove.mutate(
      { item, recursive },
      {
        onSuccess: () => {
          onClose();
          onDeleted?.();
          toast(`Deleted “${item.title}”`);
        },
        onError: (error) => isCode(error, 'has_children') && setRecursive(true),
      },
    );
  return (
    <Dialog
      open
      onClose={onClose}
      title={recursive ? 'Delete it and everything below?' : 'Delete this work item?'}
      description={`“${item.title}”`}
    >
      <p className="text-sm text-ink-2">
        {recursive
          ? 'The item has children. They are deleted with it. Their runs stay in the journal.'
          : 'It leaves the board and the tree. Its runs stay in the journal.'}
      </p>
      {remove.error && !isCode(remove.error, 'has_children') && (
        <p role="alert" className="mt-3 text-sm text-bad">
          {messageOf(remove.error)}
        </p>
      )}
      <div className="mt-5 flex justify-end gap-2">
        <Button onClick={onClose}>Keep it</Button>
        <Button variant="danger" busy={remove.isPending} onClick={submit}>
          {recursive ? 'Delete all' : 'Delete'}
        </Button>
      </div>
    </Dialog>
  );
}
