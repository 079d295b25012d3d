import { type FormEvent, useState } from 'react';
import { ApiError, messageOf } from '@/api/error';
import type { Change, LandWorkspace, Workspace } from '@/api/schema.gen';
import { useLand } from '@/data/changes';
import { randomKey } from '@/lib/id';
import { Button } from '@/ui/Button';
import { Field, Input, Textarea } from '@/ui/Field';
import { Dialog } from '@/ui/Overlay';
import { Segmented } from '@/ui/Segmented';

type How = LandWorkspace['how'];

const hows: { value: How; label: string }[] = [
  { value: 'squash', label: 'Squash' },
  { value: 'merge', label: 'Merge' },
  { value: 'push', label: 'Push a branch' },
];

/** outcomeOf describes what will happen. */
export function outcomeOf(how: How, branch: string, own: string): string {
  switch (how) {
    case 'squash':
      return `${branch} gets one commit on top, by you, with the whole change. It does not contain the agent’s own commits.`;
    case 'merge':
      return `${branch} gets a merge commit, and with it the agent’s own commits.`;
    case 'push':
      return `The repository gets the branch ${own}, for a pull request. No other branch changes.`;
  }
}

/** refusalOf explains why a landing was refused, and what to do. */
export function refusalOf(error: unknown): string {
  const code = error instanceof ApiError ? error.code : '';
  const newer = error instanceof ApiError ? error.details.checkpoint : undefined;
  if (code === 'change_moved')
    return `Something was written since you read it${newer ? `: checkpoint ${String(newer)} is newer` : ''}. Nothing was landed. Read it, then land it.`;
  if (code === 'workspace_busy') return 'A run is still at work in it. Land it when the run has ended.';
  if (code === 'host_not_connected')
    return 'Its host is not connected, and only it can land the change. Nothing was changed.';
  return messageOf(error);
}

/** LandDialog shows what will happen to the repository and asks for confirmation. */
export function LandDialog({
  workspace,
  change,
  title,
  drafts,
  onClose,
}: {
  workspace: Workspace;
  change: Change;
  /** The work item's title. */
  title: string;
  /** How many comments on the change have not been sent. */
  drafts: number;
  onClose(): void;
}) {
  const [how, setHow] = useState<How>('squash');
  const [into, setInto] = useState('');
  const [message, setMessage] = useState(title);
  const [key, setKey] = useState(randomKey);
  const land = useLand(workspace.id);
  const branch = into.trim() || workspace.base_ref || 'The base branch';
  const additions = change.files.reduce((sum, file) => sum + file.additions, 0);
  const deletions = change.files.reduce((sum, file) => sum + file.deletions, 0);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    const target =
      how === 'push' ? {} : { ...(into.trim() && { into: into.trim() }), ...(message.trim() && { message }) };
    land.mutate(
      { key, body: { checkpoint: change.checkpoint, how, ...target } },
      // The server keeps its refusal under the idempotency key, so the next attempt needs a new key.
      { onSuccess: onClose, onError: () => setKey(randomKey()) },
    );
  };
  return (
    <Dialog open onClose={onClose} title="Land this change" description={`Into ${workspace.repo}`}>
      <form onSubmit={submit} className="flex flex-col gap-4">
        <Segmented<How> label="How" value={how} onChange={setHow} options={hows} />
        <p className="rounded-lg bg-sunken px-3 py-2 text-sm ring-1 ring-line ring-inset">
          {outcomeOf(how, branch, workspace.branch)} It is exactly checkpoint {change.checkpoint}, as you read
          it: {change.files.length === 1 ? '1 file' : `${change.files.length} files`}
          {change.since === 0 && `, ${additions} lines added and ${deletions} removed`}. If anything was
          written since, nothing happens.
        </p>
        {how !== 'push' && (
          <>
            <Field label="Branch" optional>
              {(ids) => (
                <Input
                  {...ids}
                  value={into}
                  onChange={(event) => setInto(event.target.value)}
                  placeholder={workspace.base_ref || 'the one that the copy was made from'}
                  className="font-mono text-xs"
                />
              )}
            </Field>
            <Field label="Message of the commit" optional>
              {(ids) => (
                <Textarea {...ids} value={message} onChange={(event) => setMessage(event.target.value)} />
              )}
            </Field>
          </>
        )}
        {drafts > 0 && (
          <p className="text-sm text-warn">
            {drafts === 1 ? '1 comment was' : `${drafts} comments were`} not sent: the agent has not read{' '}
            {drafts === 1 ? 'it' : 'them'}.
          </p>
        )}
        {land.error && (
          <p role="alert" className="text-sm text-bad">
            {refusalOf(land.error)}
          </p>
        )}
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Not yet</Button>
          <Button type="submit" variant="primary" busy={land.isPending}>
            {how === 'push' ? 'Push it' : 'Land it'}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
