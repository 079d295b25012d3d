import { useQuery } from '@tanstack/react-query';
import { Send } from 'lucide-react';
import { messageOf } from '@/api/error';
import type { SinkState } from '@/api/schema.gen';
import { Section } from '@/components/Section';
import { sinksQuery, useTestSink } from '@/data/access';
import { span } from '@/lib/time';
import { useNow } from '@/lib/useNow';
import { Badge } from '@/ui/Badge';
import { Button } from '@/ui/Button';
import { RelativeTime } from '@/ui/RelativeTime';
import { ErrorState, Loading, Skeleton } from '@/ui/States';

/** Sinks lists the sinks for notifications about the inbox, and the state of each. */
export function Sinks() {
  const { data: sinks, error, refetch } = useQuery(sinksQuery);
  return (
    <Section
      title="Notification sinks"
      about={
        <>
          Where the server sends notifications about the inbox. <code className="font-mono">[[notify]]</code>{' '}
          in its <code className="font-mono">config.toml</code> adds one.
        </>
      }
    >
      {sinks ? (
        <ul aria-label="Notification sinks" className="-my-2 flex flex-col">
          {sinks.map((sink) => (
            <SinkRow key={sink.name} sink={sink} />
          ))}
          {sinks.length === 0 && (
            <li className="py-2 text-sm text-ink-3">
              None. The inbox is shown only here and on the command line.
            </li>
          )}
        </ul>
      ) : error ? (
        <ErrorState
          title="The sinks could not be read"
          message={messageOf(error)}
          retry={() => void refetch()}
        />
      ) : (
        <Loading label="Loading the sinks">
          <Skeleton className="h-16" />
        </Loading>
      )}
    </Section>
  );
}

function SinkRow({ sink }: { sink: SinkState }) {
  const test = useTestSink();
  return (
    <li className="flex flex-wrap items-center gap-x-3 gap-y-1 border-b py-2.5 last:border-0">
      <span className="flex min-w-0 flex-1 basis-56 flex-col gap-1">
        <span className="flex min-w-0 items-center gap-2">
          <span className="truncate text-sm font-medium">{sink.name}</span>
          <Badge>{sink.kind}</Badge>
          {sink.failures > 0 && <Badge tone="bad">failing</Badge>}
          {sink.waiting > 0 && <Badge tone="warn">{sink.waiting} waiting</Badge>}
        </span>
        <span className="text-xs text-ink-3">
          {sink.on.map((kind) => kind.replace('_', ' ')).join(', ')}
          {' · '}
          {sink.projects.length > 0 ? sink.projects.join(', ') : 'all projects'}
          {' · '}
          {sink.sent_at ? (
            <>
              received one <RelativeTime at={sink.sent_at} />
            </>
          ) : (
            'has received none yet'
          )}
        </span>
        {sink.failures > 0 && <Failing sink={sink} />}
      </span>
      <Button
        size="sm"
        icon={<Send className="size-3.5" />}
        busy={test.isPending}
        onClick={() => test.mutate(sink.name)}
        aria-label={`Test ${sink.name}`}
      >
        Test
      </Button>
      <span role="status" className="w-full text-xs empty:hidden">
        {test.isSuccess && <span className="text-ok">The sink accepted the test message.</span>}
        {test.error && <span className="break-words text-bad">{messageOf(test.error)}</span>}
      </span>
    </li>
  );
}

/** Failing shows why deliveries to a sink fail, and when the next attempt is due. */
function Failing({ sink }: { sink: SinkState }) {
  const now = useNow();
  const wait = sink.retry_at ? Date.parse(sink.retry_at) - now : 0;
  return (
    <span className="text-xs break-words text-bad">
      failed {sink.failures === 1 ? 'once' : `${sink.failures} times in a row`}
      {sink.failed_at && (
        <>
          , last <RelativeTime at={sink.failed_at} />
        </>
      )}
      {sink.error && `: ${sink.error}`}
      {wait > 0 && `; tries again in ${span(wait)}`}
    </span>
  );
}
