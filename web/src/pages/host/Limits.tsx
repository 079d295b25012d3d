import { type FormEvent, useState } from 'react';
import { messageOf } from '@/api/error';
import type { Host } from '@/api/records';
import { useUpdateHost } from '@/data/actions';
import { Button } from '@/ui/Button';
import { Field, Input } from '@/ui/Field';
import { toast } from '@/ui/toast';

/** Limits sets how many runs a host may have at once. */
export function Limits({ host }: { host: Host }) {
  const [most, setMost] = useState(host.max_runs?.toString() ?? '');
  const update = useUpdateHost();
  const changed = most !== (host.max_runs?.toString() ?? '');
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    update.mutate(
      { id: host.id, patch: { max_runs: most === '' ? null : Number(most) } },
      { onSuccess: () => toast.success('Saved') },
    );
  };
  return (
    <form onSubmit={submit} className="flex items-end gap-2 border-t pt-4">
      <div className="w-40">
        <Field label="Runs at once" error={update.error && messageOf(update.error)}>
          {(ids) => (
            <Input
              {...ids}
              type="number"
              min={0}
              max={100000}
              value={most}
              onChange={(event) => setMost(event.target.value)}
              placeholder="no limit"
            />
          )}
        </Field>
      </div>
      {changed && (
        <Button type="submit" busy={update.isPending}>
          Save
        </Button>
      )}
    </form>
  );
}
