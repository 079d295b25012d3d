import { type FormEvent, useState } from 'react';
import { fieldErrors, messageOf } from '@/api/error';
import type { Role } from '@/api/records';
import type { NewToken } from '@/api/schema.gen';
import { useCreateToken } from '@/data/access';
import { randomKey } from '@/lib/id';
import { Button } from '@/ui/Button';
import { Command } from '@/ui/Copy';
import { Field, Input, Select } from '@/ui/Field';
import { Dialog } from '@/ui/Overlay';

const roles: { role: Role; may: string }[] = [
  { role: 'viewer', may: 'reads and watches' },
  { role: 'operator', may: 'also plans, runs, answers and stops' },
  { role: 'admin', may: 'also makes and revokes tokens and hosts' },
];

/** How many days a token is valid; 0: without a limit. */
const lives = [
  { days: 7, words: 'in 7 days' },
  { days: 30, words: 'in 30 days' },
  { days: 90, words: 'in 90 days' },
  { days: 365, words: 'in a year' },
  { days: 0, words: 'never' },
];

/** NewTokenDialog creates an access token and shows its secret once. */
export function NewTokenDialog({ onClose }: { onClose(): void }) {
  const [name, setName] = useState('');
  const [role, setRole] = useState<Role>('operator');
  const [days, setDays] = useState(90);
  // The expiry is computed from the time when the dialog was opened, so that a repeated request has the same body.
  const [opened] = useState(Date.now);
  const [sent, setSent] = useState({ key: '', says: '' });
  const create = useCreateToken();
  if (create.data) return <Secret token={create.data} onClose={onClose} />;

  const errors = fieldErrors(create.error);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    const expires_at = days > 0 ? new Date(opened + days * 86_400_000).toISOString() : undefined;
    const body = { name: name.trim(), role, expires_at };
    // The same request again, for example after a lost answer, uses the same key and creates no second token.
    const says = JSON.stringify(body);
    const request = sent.says === says ? sent : { key: randomKey(), says };
    setSent(request);
    create.mutate({ body, key: request.key });
  };
  return (
    <Dialog open onClose={onClose} title="New access token">
      <form onSubmit={submit} noValidate className="flex flex-col gap-4">
        <Field
          label="Name"
          hint="The person or program that uses it. It is shown beside everything that is done with it."
          error={errors.name}
        >
          {(ids) => (
            <Input
              {...ids}
              value={name}
              onChange={(event) => setName(event.target.value)}
              placeholder="ann"
            />
          )}
        </Field>
        <Field label="Role" error={errors.role}>
          {(ids) => (
            <Select {...ids} value={role} onChange={(event) => setRole(event.target.value as Role)}>
              {roles.map((each) => (
                <option key={each.role} value={each.role}>
                  {each.role}: {each.may}
                </option>
              ))}
            </Select>
          )}
        </Field>
        <Field label="Expires" error={errors.expires_at}>
          {(ids) => (
            <Select {...ids} value={days} onChange={(event) => setDays(Number(event.target.value))}>
              {lives.map((life) => (
                <option key={life.days} value={life.days}>
                  {life.words}
                </option>
              ))}
            </Select>
          )}
        </Field>
        {create.error && Object.keys(errors).length === 0 && (
          <p role="alert" className="text-sm text-bad">
            {messageOf(create.error)}
          </p>
        )}
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" variant="primary" busy={create.isPending} disabled={name.trim() === ''}>
            Make it
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

/** Secret shows a new token's secret. It cannot be shown again. */
function Secret({ token, onClose }: { token: NewToken; onClose(): void }) {
  return (
    <Dialog open onClose={onClose} title={`The token of ${token.name}`} wide>
      <div className="flex flex-col gap-4 text-sm">
        {token.token ? (
          <>
            <p className="text-ink-2">
              It is shown only now and is stored nowhere. Anyone who has it acts with the role {token.role}.
            </p>
            <Command line={token.token} />
            <p className="text-ink-2">A link that signs in with it:</p>
            <Command line={`${location.origin}/#token=${token.token}`} />
          </>
        ) : (
          <p role="alert" className="text-warn">
            It was made, but the answer that had its secret was lost. Revoke it and make another.
          </p>
        )}
        <Button variant="primary" onClick={onClose} className="self-end">
          Done
        </Button>
      </div>
    </Dialog>
  );
}
