import { useQuery } from '@tanstack/react-query';
import { Fragment } from 'react';
import { isCode, messageOf } from '@/api/error';
import type { Run } from '@/api/records';
import { workspaceQuery } from '@/data/changes';
import { useNow } from '@/lib/useNow';
import { cx } from '@/ui/cx';
import { workspaceWords } from './workspaceWords';

const tones = { ok: 'text-ok', warn: 'text-warn', bad: 'text-bad' };

/** WorkspaceLine describes a run's working copy in one line. The event stream keeps it up to date. */
export function WorkspaceLine({ id, run }: { id: string; run: Pick<Run, 'started_at'> }) {
  const { data, error } = useQuery(workspaceQuery(id));
  const now = useNow();
  if (!data) {
    const text = error ? (isCode(error, 'not_found') ? 'no longer on record' : messageOf(error)) : '…';
    return <p className="text-sm text-ink-3">{text}</p>;
  }
  return (
    <p className="text-sm break-words text-ink-2">
      {workspaceWords(data, run, now).map(({ text, tone }, index) => (
        <Fragment key={text}>
          {index > 0 && ' · '}
          <span className={cx(tone && tones[tone])}>{text}</span>
        </Fragment>
      ))}
    </p>
  );
}
