import { ChevronRight } from 'lucide-react';
import { memo, useMemo } from 'react';
import type { ChangedFile } from '@/api/schema.gen';
import { count } from '@/lib/count';
import { useParts } from '@/lib/useParts';
import { type Folder, firstOf, treeOf } from './tree';

/**
 * How many files are rendered per frame. One takes 0.1 ms; for a few hundred files, another frame costs more than it
 * saves.
 */
const inFrame = 400;

/** FileTree shows the changed files by folder. A folder that contains only one folder is shown in one line with it. */
export const FileTree = memo(function FileTree({
  files,
  onOpen,
}: {
  files: readonly ChangedFile[];
  /** onOpen opens a file by its index in the list. */
  onOpen(index: number): void;
}) {
  const root = useMemo(() => treeOf(files.map((file) => file.path)), [files]);
  const there = useParts(files.length, inFrame);
  return <Level folder={firstOf(root, there)} files={files} onOpen={onOpen} />;
});

const Level = memo(function Level({
  folder,
  files,
  onOpen,
}: {
  folder: Folder;
  files: readonly ChangedFile[];
  onOpen(index: number): void;
}) {
  return (
    <ul className="flex flex-col">
      {folder.folders.map((each) => (
        // Folders out of view get no layout. Until its first layout, a folder is assumed to have this height.
        <li key={each.name} className="[contain-intrinsic-size:auto_16rem] [content-visibility:auto]">
          <details open className="group">
            <summary className="flex cursor-default list-none items-start gap-1 rounded px-1 py-1 text-ink-2 hover:bg-hover">
              <ChevronRight
                aria-hidden
                className="mt-0.5 size-3.5 shrink-0 text-ink-3 transition-transform [details[open]>summary>&]:rotate-90"
              />
              <span className="min-w-0 font-mono text-xs break-all">{each.name}</span>
            </summary>
            <div className="ml-2.5 border-l pl-1">
              <Level folder={each} files={files} onOpen={onOpen} />
            </div>
          </details>
        </li>
      ))}
      {folder.files.map(({ name, index }) => {
        const file = files[index] as ChangedFile;
        // A list has hundreds of these, so each uses as few elements and components as possible.
        return (
          <li key={file.path}>
            <button
              type="button"
              title={file.path}
              onClick={() => onOpen(index)}
              className="flex w-full items-baseline gap-1.5 rounded px-2 py-1 text-left font-mono text-xs break-all hover:bg-hover"
            >
              {name}
              <span className="ml-auto shrink-0 text-ok tabular">{`+${count(file.additions)}`}</span>
              <span className="shrink-0 text-bad tabular">{`−${count(file.deletions)}`}</span>
            </button>
          </li>
        );
      })}
    </ul>
  );
});
