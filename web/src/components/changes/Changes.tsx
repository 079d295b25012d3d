import { useQuery } from '@tanstack/react-query';
import { FileDiff as FileIcon, GitMerge, SendHorizontal } from 'lucide-react';
import { useEffect, useState } from 'react';
import { messageOf } from '@/api/error';
import { isActive, type Run } from '@/api/records';
import type { Change, ChangedFile, Comment, Workspace } from '@/api/schema.gen';
import { Counts } from '@/components/Counts';
import { changesQuery, commentsQuery, type Version, workspaceQuery } from '@/data/changes';
import { count } from '@/lib/count';
import { setPref, usePrefs } from '@/lib/prefs';
import { storage } from '@/lib/storage';
import { useRoom } from '@/lib/useRoom';
import { Button } from '@/ui/Button';
import { Select } from '@/ui/Field';
import { Segmented } from '@/ui/Segmented';
import { EmptyState, ErrorState, Loading, Skeleton } from '@/ui/States';
import { Files } from './Files';
import { LandDialog } from './LandDialog';
import { LandingState } from './LandingState';
import { SendDialog } from './SendDialog';

/** How many earlier checkpoints can be chosen for comparison. The patches of this many are always kept. */
const comparable = 7;
/** How wide the view must be for the side-by-side view, in px. */
const splitRoom = 1000;
const nothing: Comment[] = [];

/** Changes shows what a run changed in its working copy, to read, to comment on, to send back, and to land. */
export function Changes({ run }: { run: Run }) {
  if (!run.workspace_id) {
    return (
      <EmptyState icon={<FileIcon className="size-5" />} title="No working copy" className="pt-[10vh]">
        {isActive(run)
          ? 'A run of a project with a repository gets a copy of its own when it is placed on a host.'
          : 'This run worked in a folder that svc does not keep. A project with a repository gives each run a copy of its own.'}
      </EmptyState>
    );
  }
  return <OfWorkspace id={run.workspace_id} run={run} />;
}

function OfWorkspace({ id, run }: { id: string; run: Run }) {
  const { data: workspace, error, refetch } = useQuery(workspaceQuery(id));
  if (workspace && workspace.relayed_checkpoint > 0) return <Review workspace={workspace} run={run} />;
  if (workspace) {
    return (
      <EmptyState icon={<FileIcon className="size-5" />} title="Nothing to read yet" className="pt-[10vh]">
        {workspace.error
          ? messageOf(new Error(workspace.error))
          : 'What the agent changes is kept while it works, and is shown here from the first checkpoint on.'}
      </EmptyState>
    );
  }
  if (error) {
    return (
      <ErrorState
        title="The working copy could not be read"
        message={messageOf(error)}
        retry={() => void refetch()}
        className="pt-[10vh]"
      />
    );
  }
  return <Reading />;
}

const Reading = () => (
  <Loading label="Loading the changes" className="flex flex-1 flex-col gap-3 p-5">
    <Skeleton className="h-8" />
    <Skeleton className="h-40" />
  </Loading>
);

function Review({ workspace, run }: { workspace: Workspace; run: Run }) {
  const { id, relayed_checkpoint: newest } = workspace;
  // The displayed version does not change by itself. A newer one is offered.
  const [version, setVersion] = useState<Version>({ checkpoint: newest, since: 0 });
  const [box, roomy] = useRoom(splitRoom);
  const { splitDiff } = usePrefs();
  const looked = useLastLook(id, version.checkpoint);
  const changes = useQuery(changesQuery(id, version));
  const { data: comments = nothing } = useQuery(commentsQuery(id));
  const [dialog, setDialog] = useState<'send' | 'land' | null>(null);
  const drafts = comments.filter((comment) => comment.state === 'draft').length;
  const sinces = [looked, ...Array.from({ length: comparable }, (_, i) => version.checkpoint - 1 - i)].filter(
    (each, i, list) => each > 0 && each < version.checkpoint && list.indexOf(each) === i,
  );
  const busy = isActive(run);
  const { landing } = workspace;
  // A pushed branch is not yet merged, so it can still be landed.
  const landed =
    landing?.state === 'landed' && landing.how !== 'push' && landing.checkpoint === version.checkpoint;
  return (
    <div ref={box} className="@container flex min-h-0 flex-1 flex-col">
      <div className="flex flex-wrap items-center gap-2 border-b px-3 py-1.5 sm:px-5">
        <span className="text-sm">
          Checkpoint {version.checkpoint}
          {changes.data && <Sum change={changes.data} />}
        </span>
        <span className="w-48 max-sm:w-full">
          <Select
            aria-label="Compare with"
            value={version.since}
            onChange={(event) => setVersion({ ...version, since: Number(event.target.value) })}
          >
            <option value={0}>The whole change</option>
            {sinces.map((each) => (
              <option key={each} value={each}>
                {each === looked ? `Since my last look (${each})` : `Since checkpoint ${each}`}
              </option>
            ))}
          </Select>
        </span>
        {roomy && (
          <Segmented
            label="Versions"
            value={splitDiff ? 'split' : 'unified'}
            onChange={(value) => setPref('splitDiff', value === 'split')}
            options={[
              { value: 'unified', label: 'Unified' },
              { value: 'split', label: 'Split' },
            ]}
          />
        )}
        <span className="ml-auto flex gap-2">
          <Button
            size="sm"
            icon={<SendHorizontal className="size-3.5" />}
            disabled={drafts === 0}
            onClick={() => setDialog('send')}
          >
            {drafts === 1 ? 'Send 1 comment' : `Send ${drafts} comments`}
          </Button>
          <Button
            size="sm"
            variant={landed ? 'secondary' : 'primary'}
            icon={<GitMerge className="size-3.5" />}
            disabled={!changes.data || busy || landing?.state === 'open'}
            title={busy ? 'A run is at work in it. It can be landed when the run has ended.' : undefined}
            onClick={() => setDialog('land')}
          >
            {landed ? 'Land again' : 'Land'}
          </Button>
        </span>
      </div>
      <LandingState workspace={workspace} run={run} />
      {newest > version.checkpoint && (
        <div role="status" className="flex items-center gap-3 border-b px-4 py-1.5 text-xs tone-info sm:px-5">
          <span>There is a newer checkpoint: {newest}.</span>
          <Button size="sm" onClick={() => setVersion({ checkpoint: newest, since: 0 })}>
            Read it
          </Button>
          <Button size="sm" onClick={() => setVersion({ checkpoint: newest, since: version.checkpoint })}>
            Only what is new
          </Button>
        </div>
      )}
      {changes.data ? (
        <Files
          key={`${version.checkpoint} ${version.since}`}
          workspaceId={id}
          change={changes.data}
          version={version}
          newest={newest}
          split={roomy && splitDiff}
          comments={comments}
        />
      ) : changes.error ? (
        <ErrorState
          title={version.since > 0 ? 'The two cannot be compared' : 'The change could not be read'}
          message={messageOf(changes.error)}
          retry={() => (version.since > 0 ? setVersion({ ...version, since: 0 }) : void changes.refetch())}
        />
      ) : (
        <Reading />
      )}
      {dialog === 'send' && <SendDialog workspaceId={id} drafts={drafts} onClose={() => setDialog(null)} />}
      {dialog === 'land' && changes.data && (
        <LandDialog
          workspace={workspace}
          change={changes.data}
          title={run.task_title}
          drafts={drafts}
          onClose={() => setDialog(null)}
        />
      )}
    </div>
  );
}

function Sum({ change: { files } }: { change: Change }) {
  const sum = (of: (file: ChangedFile) => number): number => files.reduce((all, file) => all + of(file), 0);
  return (
    <span className="text-ink-2">
      {files.length === 1 ? ', 1 file ' : `, ${count(files.length)} files `}
      <Counts additions={sum((file) => file.additions)} deletions={sum((file) => file.deletions)} />
    </span>
  );
}

/**
 * useLastLook returns the checkpoint that this browser showed at the last visit; 0: none. It stores the checkpoint that
 * is shown now.
 */
function useLastLook(workspaceId: string, checkpoint: number): number {
  const key = `svc.looked.${workspaceId}`;
  const [looked] = useState(() => Number(storage.getItem(key) ?? 0));
  useEffect(() => storage.setItem(key, String(checkpoint)), [key, checkpoint]);
  return looked;
}
