import { defaultRangeExtractor, useVirtualizer } from '@tanstack/react-virtual';
import { FileDiff as FileIcon } from 'lucide-react';
import { useCallback, useMemo, useRef, useState } from 'react';
import { flushSync } from 'react-dom';
import type { Change, ChangedFile, Comment } from '@/api/schema.gen';
import type { Version } from '@/data/changes';
import { count } from '@/lib/count';
import { useRoom } from '@/lib/useRoom';
import { EmptyState } from '@/ui/States';
import { FileDiff, heightOf } from './FileDiff';
import { FileTree } from './FileTree';
import { Thread } from './Thread';
import { byFile } from './threads';

/** How many lines of a change are open initially. The files after them must be opened by hand. */
const openLines = 800;
/** How wide the view must be to show the list of files beside the patches, in px. */
const treeRoom = 896;
const nothing: Comment[] = [];

/** Files shows the files of a change, of which only the visible ones are rendered, and a list with a link to each. */
export function Files({
  workspaceId,
  change,
  version,
  newest,
  split,
  comments,
}: {
  workspaceId: string;
  change: Change;
  version: Version;
  newest: number;
  split: boolean;
  comments: Comment[];
}) {
  const { files } = change;
  const [toggled, setToggled] = useState<ReadonlyMap<string, boolean>>(new Map());
  const begin = useMemo(() => firstFiles(files), [files]);
  const threads = useMemo(() => byFile(files, comments, version, newest), [files, comments, version, newest]);
  const isOpen = (path: string): boolean => toggled.get(path) ?? begin.has(path);
  const toggle = useCallback(
    (path: string, open: boolean) => setToggled((before) => new Map(before).set(path, open)),
    [],
  );
  const [drawn, setDrawn] = useState<ReadonlyMap<string, number>>(new Map());
  const draw = useCallback(
    (path: string, lines: number) => setDrawn((before) => new Map(before).set(path, lines)),
    [],
  );
  const [box, roomy] = useRoom(treeRoom);
  const [listed, setListed] = useState(false);
  const [goal, setGoal] = useState<number | null>(null);
  const scroller = useRef<HTMLDivElement>(null);
  const list = useRef<HTMLUListElement>(null);
  const rows = useVirtualizer({
    count: files.length,
    getScrollElement: () => scroller.current,
    getItemKey: (index) => files[index]?.path ?? index,
    estimateSize: (index) => {
      const file = files[index] as ChangedFile;
      return heightOf(file, isOpen(file.path));
    },
    gap: 12,
    overscan: 1,
    paddingStart: 12,
    paddingEnd: 16,
    rangeExtractor: (range) => {
      const kept = [...inUse(list.current), ...(goal === null ? [] : [goal])];
      const places = new Set([...defaultRangeExtractor(range), ...kept]);
      return [...places].filter((index) => index < files.length).sort((a, b) => a - b);
    },
  });
  const goTo = useCallback(
    (index: number): void => {
      // The file must be rendered before it is visible, so that it can get the focus.
      flushSync(() => {
        toggle((files[index] as ChangedFile).path, true);
        setGoal(index);
      });
      rows.scrollToIndex(index, { align: 'start' });
      document.getElementById(titleOf(index))?.focus({ preventScroll: true });
    },
    [files, rows, toggle],
  );
  const elsewhere = threads.get(null);
  if (files.length === 0) {
    return (
      <EmptyState icon={<FileIcon className="size-5" />} title="Nothing differs" className="pt-[8vh]">
        {version.since > 0
          ? `Checkpoint ${version.checkpoint} is the same as checkpoint ${version.since}.`
          : 'The working copy is the same as its base.'}
      </EmptyState>
    );
  }
  return (
    <div ref={box} className="flex min-h-0 flex-1">
      {roomy && (
        <nav aria-label="Changed files" className="w-72 shrink-0 overflow-y-auto border-r p-2">
          <FileTree files={files} onOpen={goTo} />
        </nav>
      )}
      <div className="flex min-w-0 flex-1 flex-col">
        {!roomy && (
          <details
            onToggle={(event) => setListed(event.currentTarget.open)}
            className="m-2 mb-0 max-h-1/2 shrink-0 overflow-y-auto rounded-lg ring-1 ring-line sm:mx-4"
          >
            <summary className="px-3 py-2 text-sm">
              {files.length === 1 ? '1 file' : `${count(files.length)} files`}
            </summary>
            {listed && <FileTree files={files} onOpen={goTo} />}
          </details>
        )}
        {change.truncated && (
          <p className="px-2 pt-2 text-xs text-warn sm:px-4">
            Not all of it can be shown here: svc run diff has the rest.
          </p>
        )}
        <div ref={scroller} className="min-h-0 flex-1 overflow-y-auto px-2 sm:px-4">
          <ul ref={list} className="relative" style={{ height: rows.getTotalSize() }}>
            {rows.getVirtualItems().map(({ index, key, start }) => {
              const file = files[index] as ChangedFile;
              return (
                <li
                  key={key}
                  ref={rows.measureElement}
                  data-index={index}
                  className="absolute inset-x-0"
                  // Not a transform: the sticky title of a file depends on the layout position.
                  style={{ top: start }}
                >
                  <FileDiff
                    titleId={titleOf(index)}
                    workspaceId={workspaceId}
                    file={file}
                    version={version}
                    newest={newest}
                    split={split}
                    comments={threads.get(file.path) ?? nothing}
                    open={isOpen(file.path)}
                    onToggle={toggle}
                    drawn={drawn.get(file.path)}
                    onDraw={draw}
                  />
                </li>
              );
            })}
          </ul>
          {elsewhere && (
            <section aria-label="Comments on other files" className="pb-4">
              <h2 className="px-2 text-xs font-medium text-ink-2">On files that are not shown here</h2>
              <Thread comments={elsewhere} quoted />
            </section>
          )}
        </div>
      </div>
    </div>
  );
}

const titleOf = (index: number): string => `file-title-${index}`;

/** inUse returns the indexes of files that stay rendered out of view: files with the focus or with a form. */
const inUse = (list: Element | null): number[] =>
  [...(list?.children ?? [])]
    .filter((each) => each.querySelector('form, :focus') !== null)
    .map((each) => Number((each as HTMLElement).dataset.index));

/** firstFiles returns the files that are open initially: those at the start, up to a total of openLines. */
export function firstFiles(files: readonly ChangedFile[]): Set<string> {
  const open = new Set<string>();
  let lines = 0;
  for (const file of files) {
    lines += file.additions + file.deletions;
    if (lines > openLines) break;
    open.add(file.path);
  }
  return open;
}
