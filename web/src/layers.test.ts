// @vitest-environment node
import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

// Each folder may import the folders before it, and itself. ui does not depend on svc; app may import everything.
const layers = ['lib', 'jsx', 'api', 'live', 'data', 'ui', 'terminal', 'components', 'pages', 'app'];
const exceptions = new Set([
  'lib/prefs.ts → api', // the preferences contain kinds of work items
  'live/cache.ts → data', // the cache's keys
  'live/cache.test.ts → data',
]);
// Keeps the buttons and badges independent of the service.
const forbidden: Record<string, string[]> = { ui: ['api', 'live', 'data'] };

const root = new URL('./', import.meta.url);
const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter(
  (name) => /\.tsx?$/.test(name) && name.includes('/'),
);

it('imports go one way: ui ← components ← pages ← app', () => {
  expect(files.length).toBeGreaterThan(50);
  const broken = files.flatMap((file) => {
    const layer = file.split('/')[0] as string;
    const source = readFileSync(new URL(file, root), 'utf8');
    return [...source.matchAll(/(?:from|import\()\s*'@\/([a-z]+)\//g)]
      .map((found) => found[1] as string)
      .filter((used) => layers.indexOf(used) > layers.indexOf(layer) || forbidden[layer]?.includes(used))
      .map((used) => `${file} → ${used}`);
  });
  expect(broken.filter((each) => !exceptions.has(each))).toEqual([]);
});

// The client's own methods that mark queries as stale lose events that arrive during a request.
it('only live/stale.ts marks answers as stale', () => {
  const marking = /\.(invalidateQueries|refetchQueries|resetQueries)\(/;
  const found = files.filter(
    (file) => !/\.test\.tsx?$/.test(file) && marking.test(readFileSync(new URL(file, root), 'utf8')),
  );
  expect(found).toEqual(['live/stale.ts']);
});
