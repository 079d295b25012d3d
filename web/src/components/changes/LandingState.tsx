import { useNavigate } from '@tanstack/react-router';
import { CircleCheck, CircleX } from 'lucide-react';
import type { ReactNode } from 'react';
import { messageOf } from '@/api/error';
import type { Run } from '@/api/records';
import type { Landing, Workspace } from '@/api/schema.gen';
import { useStartRun } from '@/data/actions';
import { randomKey } from '@/lib/id';
import { Button } from '@/ui/Button';
import { RelativeTime } from '@/ui/RelativeTime';
import { Spinner } from '@/ui/Spinner';
import { toast } from '@/ui/toast';
import { DiscardOthers } from './DiscardOthers';
import { MarkDone } from './MarkDone';

const reasons: Record<Landing['reason'], string> = {
  '': '',
  conflict: 'Both sides have changed the same lines. The branch is as it was.',
  unrelated: 'The branch and the copy share no history.',
  nothing_to_land: 'The branch has the whole change already.',
  change_moved: 'Something was written since that checkpoint. Read what is new, then land it.',
  target_missing: 'There is no such branch.',
  target_moved: 'Others moved the branch again and again. Try once more.',
  checkout_in_use: 'The branch is checked out where somebody works.',
  refused: 'The repository refused the change.',
  unreachable: 'The repository cannot be reached from the host.',
  workspace_gone: 'The host no longer has this copy.',
  checkpoint_gone: 'The host no longer has this checkpoint.',
  given_up: 'The landing was given up. It is not known whether the branch has the change.',
};

/** rebasePrompt returns a prompt that asks an agent to bring a working copy up to date. */
export const rebasePrompt = (landing: Landing): string =>
  [
    `Bring this working copy up to date with the branch ${landing.into || 'it began at'}: fetch it, merge it, and resolve the conflicts so that both changes keep their meaning. Run the tests.`,
    ...(landing.conflicts.length > 0 ? [`Files in conflict:\n${landing.conflicts.join('\n')}`] : []),
  ].join('\n\n');

/** LandingState shows the state of the newest landing. Without a landing it renders nothing. */
export function LandingState({ workspace, run }: { workspace: Workspace; run: Run }) {
  const { landing } = workspace;
  const start = useStartRun();
  const navigate = useNavigate();
  if (!landing) return null;
  if (landing.state === 'open') {
    return (
      <Strip icon={<Spinner className="text-info" />}>
        Checkpoint {landing.checkpoint} is being landed{landing.into && ` into ${landing.into}`}.
        {landing.error && ` ${messageOf(new Error(landing.error))}`}
      </Strip>
    );
  }
  if (landing.state === 'landed') {
    return (
      <Strip
        icon={<CircleCheck className="size-4 text-ok" />}
        action={
          <>
            <DiscardOthers landed={workspace} />
            {landing.how !== 'push' && <MarkDone taskId={run.task_id} />}
          </>
        }
      >
        {landing.by} landed checkpoint {landing.checkpoint} into {landing.into || workspace.landed_into}{' '}
        <RelativeTime at={landing.at} />
        {landing.commit && (
          <>
            {' '}
            as <code className="font-mono text-xs">{landing.commit.slice(0, 12)}</code>
          </>
        )}
        .
      </Strip>
    );
  }
  const ask = (): void =>
    start.mutate(
      {
        key: randomKey(),
        again: run.id,
        body: { prompt: rebasePrompt(landing), workspace_id: workspace.id },
      },
      {
        onSuccess: ({ id }) => void navigate({ to: '/runs/$runId', params: { runId: id }, search: {} }),
        onError: (error) => toast.error(messageOf(error)),
      },
    );
  return (
    <Strip
      icon={<CircleX className="size-4 text-bad" />}
      action={
        landing.reason === 'conflict' && (
          <Button size="sm" busy={start.isPending} onClick={ask}>
            Ask an agent to bring it up to date
          </Button>
        )
      }
    >
      <p>
        Checkpoint {landing.checkpoint} was not landed. {reasons[landing.reason]}{' '}
        {landing.error && landing.reason !== 'conflict' && messageOf(new Error(landing.error))}
      </p>
      {landing.conflicts.length > 0 && (
        <ul aria-label="Files in conflict" className="mt-1 flex flex-col font-mono text-xs">
          {landing.conflicts.map((path) => (
            <li key={path} className="break-all">
              {path}
            </li>
          ))}
        </ul>
      )}
    </Strip>
  );
}

function Strip({ icon, action, children }: { icon: ReactNode; action?: ReactNode; children: ReactNode }) {
  return (
    <div
      role="status"
      className="flex flex-wrap items-start gap-x-3 gap-y-2 border-b px-4 py-2.5 text-sm sm:px-5"
    >
      <span className="mt-0.5 flex size-4 shrink-0 items-center justify-center">{icon}</span>
      <div className="min-w-0 flex-1 basis-56">{children}</div>
      {action}
    </div>
  );
}
