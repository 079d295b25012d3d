/** Folder is a folder of changed files. Each file has its index in the original list. */
export interface Folder {
  /** The path relative to the parent folder. */
  name: string;
  folders: Folder[];
  files: { name: string; index: number }[];
}

/** treeOf arranges paths by folder and keeps their order. A folder that contains only one folder is merged with it. */
export function treeOf(paths: readonly string[]): Folder {
  const root: Folder = { name: '', folders: [], files: [] };
  const known = new Map<string, Folder>([['', root]]);
  const folderAt = (path: string): Folder => {
    const found = known.get(path);
    if (found) return found;
    const cut = path.lastIndexOf('/');
    const made: Folder = { name: path.slice(cut + 1), folders: [], files: [] };
    folderAt(cut < 0 ? '' : path.slice(0, cut)).folders.push(made);
    known.set(path, made);
    return made;
  };
  for (const [index, path] of paths.entries()) {
    const cut = path.lastIndexOf('/');
    folderAt(cut < 0 ? '' : path.slice(0, cut)).files.push({ name: path.slice(cut + 1), index });
  }
  return { ...root, folders: root.folders.map(joined) };
}

function joined(folder: Folder): Folder {
  const [only] = folder.folders;
  if (only && folder.folders.length === 1 && folder.files.length === 0) {
    const next = joined(only);
    return { ...next, name: `${folder.name}/${next.name}` };
  }
  return { ...folder, folders: folder.folders.map(joined) };
}

/**
 * firstOf returns a folder with only its first n files, in the order of display. A folder with at most n files is
 * returned as the same object.
 */
export function firstOf(folder: Folder, n: number): Folder {
  let left = n;
  const take = (whole: Folder): Folder => {
    const folders: Folder[] = [];
    for (const each of whole.folders) {
      if (left <= 0) break;
      folders.push(take(each));
    }
    const files = whole.files.slice(0, Math.max(0, left));
    left -= files.length;
    const all = files.length === whole.files.length && whole.folders.every((each, i) => each === folders[i]);
    return all ? whole : { ...whole, folders, files };
  };
  return take(folder);
}
