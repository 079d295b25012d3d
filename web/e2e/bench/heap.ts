import type { CDPSession } from '@playwright/test';

/** Heap is the memory of a tab after a garbage collection, in bytes, read from a heap snapshot. */
export interface Heap {
  /** Memory of objects of the page's scripts: objects, strings, lists, closures. */
  data: number;
  /** Memory that the browser uses for the page outside the scripts' heap: elements, styles, buffers. */
  native: number;
  /** Memory of the engine: compiled functions, and statistics of their calls for optimization. */
  code: number;
  /** The memory by kind and constructor, to find what grew. */
  groups: Map<string, { count: number; bytes: number }>;
}

interface Snapshot {
  snapshot: { meta: { node_fields: string[]; node_types: [string[], ...unknown[]] } };
  nodes: number[];
  strings: string[];
}

/** heapOf collects garbage and reads a heap snapshot. */
export async function heapOf(devtools: CDPSession): Promise<Heap> {
  const chunks: string[] = [];
  const keep = ({ chunk }: { chunk: string }): void => {
    chunks.push(chunk);
  };
  devtools.on('HeapProfiler.addHeapSnapshotChunk', keep);
  await devtools.send('HeapProfiler.collectGarbage');
  await devtools.send('HeapProfiler.takeHeapSnapshot', { reportProgress: false });
  devtools.off('HeapProfiler.addHeapSnapshotChunk', keep);
  return sumOf(JSON.parse(chunks.join('')) as Snapshot);
}

function sumOf({ snapshot: { meta }, nodes, strings }: Snapshot): Heap {
  const kinds = meta.node_types[0];
  const [kindAt, nameAt, sizeAt] = ['type', 'name', 'self_size'].map((field) =>
    meta.node_fields.indexOf(field),
  ) as [number, number, number];
  const heap: Heap = { data: 0, native: 0, code: 0, groups: new Map() };
  for (let at = 0; at < nodes.length; at += meta.node_fields.length) {
    const kind = kinds[nodes[at + kindAt] as number] as string;
    const bytes = nodes[at + sizeAt] as number;
    heap[kind === 'code' || kind === 'native' ? kind : 'data'] += bytes;
    // The name of a string is its text.
    const name = kind.endsWith('string')
      ? kind
      : `${kind} ${strings[nodes[at + nameAt] as number]?.slice(0, 60)}`;
    const group = heap.groups.get(name) ?? { count: 0, bytes: 0 };
    heap.groups.set(name, { count: group.count + 1, bytes: group.bytes + bytes });
  }
  return heap;
}

/** grown returns the groups that grew most between two heaps, one per line. */
export function grown(before: Heap, after: Heap, most = 12): string {
  return [...after.groups]
    .map(([name, { count, bytes }]) => {
      const was = before.groups.get(name) ?? { count: 0, bytes: 0 };
      return { name, count, bytes: bytes - was.bytes };
    })
    .sort((a, b) => b.bytes - a.bytes)
    .slice(0, most)
    .map(({ name, count, bytes }) => `${(bytes / 1000).toFixed(0).padStart(7)} KB  ${name} (${count} now)`)
    .join('\n');
}
