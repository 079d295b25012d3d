import { useQuery } from '@tanstack/react-query';
import { Check } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { availability } from '@/api/records';
import { NewProjectDialog } from '@/components/NewProjectDialog';
import { hostsQuery, providersQuery } from '@/data/queries';
import { useTitle } from '@/lib/title';
import { Button } from '@/ui/Button';
import { Command } from '@/ui/Copy';
import { cx } from '@/ui/cx';

/** Welcome is the page of a new installation: three steps, each marked as done when it is done. */
export function Welcome() {
  useTitle('Welcome');
  const [creating, setCreating] = useState(false);
  const { data: hosts = [] } = useQuery(hostsQuery);
  const { data: providers = [] } = useQuery(providersQuery);
  const online = hosts.filter((host) => host.status === 'online');
  const ready = providers.filter((provider) => availability(provider).available > 0);
  const names = (list: { name: string }[]): string => list.map((each) => each.name).join(', ');
  return (
    <div className="overflow-y-auto">
      <div className="mx-auto flex max-w-xl flex-col px-5 py-[10vh]">
        <img src="/icon.svg" alt="" className="mb-5 size-10" />
        <h1 className="text-2xl font-semibold tracking-tight">Welcome to svc</h1>
        <p className="mt-1.5 text-base text-pretty text-ink-2">
          Plan work on a board, let agents do it on your machines, and see at any moment what they are doing.
        </p>
        <ol className="mt-8 flex flex-col gap-3">
          <Step number={1} done={online.length > 0} title="Connect a host" result={`${names(online)} online`}>
            <p>A host is a machine that runs agents. Make one here, then start its worker there:</p>
            <Command line="svc host create build-1" />
            <p>
              For a try-out, <code className="font-mono text-xs">svc up</code> brings a host of its own.
            </p>
          </Step>
          <Step number={2} done={ready.length > 0} title="Find a provider" result={`${names(ready)} ready`}>
            <p>
              A provider is an agent's command-line tool. Run this on the host to see which are installed and
              what is missing:
            </p>
            <Command line="svc provider doctor" />
          </Step>
          <Step number={3} done={false} title="Create a project" result="">
            <p>A project is a board of work items and the runs on them.</p>
            <Button variant="primary" onClick={() => setCreating(true)} className="self-start">
              New project
            </Button>
          </Step>
        </ol>
      </div>
      <NewProjectDialog open={creating} onClose={() => setCreating(false)} />
    </div>
  );
}

function Step({
  number,
  done,
  title,
  result,
  children,
}: {
  number: number;
  done: boolean;
  title: string;
  result: string;
  children: ReactNode;
}) {
  return (
    <li className="flex gap-4 rounded-xl bg-panel p-4 shadow-1 ring-1 ring-line">
      <span
        className={cx(
          'flex size-6 shrink-0 items-center justify-center rounded-full text-xs font-semibold',
          done ? 'tone-ok' : 'bg-hover text-ink-2',
        )}
      >
        {done ? <Check aria-label="Done" className="size-3.5" /> : number}
      </span>
      <div className="flex min-w-0 flex-1 flex-col gap-2 text-sm text-ink-2">
        <h2 className="text-base leading-6 font-medium text-ink">{title}</h2>
        {done ? <p>{result}</p> : children}
      </div>
    </li>
  );
}
