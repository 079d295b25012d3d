import { type FormEvent, useState } from 'react';
import { messageOf } from '@/api/error';
import { JoinSteps } from '@/components/JoinSteps';
import { useCreateHost } from '@/data/actions';
import { Button } from '@/ui/Button';
import { Field, Input } from '@/ui/Field';
import { Dialog } from '@/ui/Overlay';

/** AddHostDialog creates a host and shows the command with which a machine joins as it. */
export function AddHostDialog({ onClose }: { onClose(): void }) {
  const [name, setName] = useState('');
  const [most, setMost] = useState('');
  const create = useCreateHost();
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    create.mutate({ name: name.trim(), ...(most === '' ? {} : { max_runs: Number(most) }) });
  };
  const { data } = create;
  return (
    <Dialog open onClose={onClose} title={data ? `Join ${data.host.name}` : 'Add a host'} wide>
      {data ? (
        <>
          <JoinSteps host={data.host} token={data.token} />
          <div className="mt-5 flex justify-end">
            <Button variant="primary" onClick={onClose}>
              Done
            </Button>
          </div>
        </>
      ) : (
        <form onSubmit={submit} className="flex flex-col gap-4">
          <div className="grid gap-4 sm:grid-cols-[1fr_10rem]">
            <Field
              label="Name"
              hint="What its worker registers as, often the machine’s own name."
              error={create.error && messageOf(create.error)}
            >
              {(ids) => (
                <Input
                  {...ids}
                  value={name}
                  onChange={(event) => setName(event.target.value)}
                  required
                  maxLength={200}
                  placeholder="build-2"
                />
              )}
            </Field>
            <Field label="Runs at once" optional>
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
          <div className="flex justify-end gap-2">
            <Button onClick={onClose}>Cancel</Button>
            <Button type="submit" variant="primary" busy={create.isPending} disabled={name.trim() === ''}>
              Continue
            </Button>
          </div>
        </form>
      )}
    </Dialog>
  );
}
