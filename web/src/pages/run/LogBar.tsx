import { ChevronDown, ChevronUp, Download, Search, WrapText } from 'lucide-react';
import type { RefObject } from 'react';
import { count } from '@/lib/count';
import { IconButton } from '@/ui/Button';
import { cx } from '@/ui/cx';
import { Input } from '@/ui/Field';
import { type LogState, mostLines } from './logStore';

const phases: Record<LogState['phase'], string> = {
  loading: 'Loading',
  open: 'Following',
  ended: 'Complete',
  waiting: 'Reconnecting',
};

/** LogBar is the bar above a log: search, wrap, download, and the log's state. */
export function LogBar({
  find,
  onFind,
  search,
  hit,
  hits,
  onStep,
  wrap,
  onWrap,
  onDownload,
  lines,
  phase,
  whole,
}: {
  find: string;
  onFind(text: string): void;
  search: RefObject<HTMLInputElement | null>;
  hit: number;
  hits: number;
  onStep(by: number): void;
  wrap: boolean;
  onWrap(wrap: boolean): void;
  onDownload(): void;
  lines: number;
  phase: LogState['phase'];
  whole: boolean;
}) {
  return (
    <div className="flex flex-wrap items-center gap-x-2 gap-y-1.5 border-b px-3 py-1.5 sm:px-4">
      <div className="relative w-full sm:w-64">
        <Search aria-hidden className="pointer-events-none absolute top-2 left-2.5 size-4 text-ink-3" />
        <Input
          ref={search}
          type="search"
          aria-label="Find in the log"
          placeholder="Find"
          value={find}
          onChange={(event) => onFind(event.target.value)}
          onKeyDown={(event) => {
            if (event.key === 'Enter') onStep(event.shiftKey ? -1 : 1);
            if (event.key === 'Escape') onFind('');
          }}
          className="pl-8"
        />
      </div>
      {find.trim() !== '' && (
        <div className="flex items-center text-xs text-ink-2 tabular">
          <span className="px-1">
            {hits === 0 ? 'Nothing found' : `${count(hit + 1)} of ${count(hits)} lines`}
          </span>
          <IconButton label="Previous" size="sm" disabled={hits === 0} onClick={() => onStep(-1)}>
            <ChevronUp className="size-4" />
          </IconButton>
          <IconButton label="Next" size="sm" disabled={hits === 0} onClick={() => onStep(1)}>
            <ChevronDown className="size-4" />
          </IconButton>
        </div>
      )}
      <div className="ml-auto flex items-center gap-1 text-xs text-ink-3">
        <span className="pr-1 tabular">
          {whole ? '' : `last ${count(mostLines)} of more · `}
          {count(lines)} {lines === 1 ? 'line' : 'lines'} ·{' '}
          <span className={cx(phase === 'waiting' && 'text-warn')}>{phases[phase]}</span>
        </span>
        <IconButton
          label={wrap ? 'Do not wrap lines' : 'Wrap lines'}
          aria-pressed={wrap}
          size="sm"
          onClick={() => onWrap(!wrap)}
          className={cx(wrap && 'bg-hover text-accent')}
        >
          <WrapText className="size-4" />
        </IconButton>
        <IconButton label="Download the whole log" size="sm" onClick={onDownload}>
          <Download className="size-4" />
        </IconButton>
      </div>
    </div>
  );
}
