import { useState } from 'react';
import { storage } from '@/lib/storage';

// Which files this browser's user has read, each with a mark of the patch that was read: a file that changes is no
// longer reviewed.
const keyOf = (workspaceId: string): string => `svc.reviewed.${workspaceId}`;

/** markOf tells patches from each other: FNV-1a over their characters, and their length. */
export function markOf(patch: string): string {
  let hash = 0x811c9dc5;
  for (let i = 0; i < patch.length; i++) hash = Math.imul(hash ^ patch.charCodeAt(i), 0x01000193);
  return `${patch.length}.${(hash >>> 0).toString(16)}`;
}

function read(workspaceId: string): Record<string, string> {
  try {
    return JSON.parse(storage.getItem(keyOf(workspaceId)) ?? '{}') as Record<string, string>;
  } catch {
    return {};
  }
}

/** Reviewed is how a file stands: read as it is, read before it changed, or not read. */
export type Reviewed = 'yes' | 'changed' | 'no';

/** reviewedOf compares what was read with a patch; undefined: it is not loaded yet. */
export const reviewedOf = (mark: string | undefined, patch: string | undefined): Reviewed =>
  mark === undefined ? 'no' : patch === undefined || markOf(patch) === mark ? 'yes' : 'changed';

/** useReviewed is the mark of a file that was read, and how to set it; null takes it away. */
export function useReviewed(workspaceId: string, path: string) {
  const [mark, setMark] = useState<string | undefined>(() => read(workspaceId)[path]);
  const set = (patch: string | null): void => {
    const marks = read(workspaceId);
    if (patch === null) delete marks[path];
    else marks[path] = markOf(patch);
    storage.setItem(keyOf(workspaceId), JSON.stringify(marks));
    setMark(marks[path]);
  };
  return { mark, set };
}
