import { useState } from 'react';
import { storage } from '@/lib/storage';

// Stores which files the user of this browser has reviewed, each with a hash of the reviewed patch. When the patch
// changes, the file is no longer reviewed.
const keyOf = (workspaceId: string): string => `svc.reviewed.${workspaceId}`;

/** markOf returns a hash of a patch: FNV-1a over its characters, and its length. */
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

/** Reviewed is the state of a file: reviewed, changed since its review, or not reviewed. */
export type Reviewed = 'yes' | 'changed' | 'no';

/**
 * reviewedOf compares a stored hash with a patch. While the patch is undefined (not loaded), the hash counts as valid.
 */
export const reviewedOf = (mark: string | undefined, patch: string | undefined): Reviewed =>
  mark === undefined ? 'no' : patch === undefined || markOf(patch) === mark ? 'yes' : 'changed';

/** useReviewed returns the hash of a reviewed file, and a function that sets it; null removes it. */
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
