import { gzipSync } from 'node:zlib';
import type { Plugin } from 'vite';

// The sizes that a browser may have to load, in bytes after gzip. A larger build fails.
const firstRoute = 180_000;
const terminal = 110_000;

// The first page of most visits. Its chunk loads together with the entry.
const home = '/pages/board/BoardPage.tsx';

/** budget fails the build when the first route or the terminal exceeds its limit. */
export function budget(): Plugin {
  return {
    name: 'svc-budget',
    apply: 'build',
    enforce: 'post',
    generateBundle(_, bundle) {
      const size = (name: string): number => {
        const file = bundle[name];
        if (!file) return 0;
        return gzipSync(file.type === 'chunk' ? file.code : file.source).length;
      };
      const reach = (name: string, seen: Set<string>): void => {
        const chunk = bundle[name];
        if (seen.has(name) || chunk?.type !== 'chunk') return;
        seen.add(name);
        for (const next of chunk.imports) reach(next, seen);
      };
      const sum = (names: Iterable<string>): number =>
        [...names].reduce((total, name) => total + size(name), 0);
      const chunks = Object.values(bundle).filter((file) => file.type === 'chunk');

      const first = new Set<string>();
      for (const chunk of chunks) {
        if (chunk.isEntry || chunk.facadeModuleId?.endsWith(home)) reach(chunk.fileName, first);
      }
      const styles = Object.keys(bundle).filter((name) => name.endsWith('.css'));
      const firstSize = sum([...first, ...styles]);

      const xterm = chunks.filter((c) => Object.keys(c.modules).some((m) => m.includes('/@xterm/')));
      const xtermSize = sum(xterm.map((c) => c.fileName));

      const kB = (bytes: number): string => `${(bytes / 1000).toFixed(1)} kB`;
      this.info(
        `first route ${kB(firstSize)} of ${kB(firstRoute)} gzip; terminal ${kB(xtermSize)} of ${kB(terminal)}`,
      );
      if (firstSize > firstRoute)
        this.error(`the first route is ${kB(firstSize)} gzip, over its ${kB(firstRoute)}`);
      if (xtermSize > terminal) this.error(`the terminal is ${kB(xtermSize)} gzip, over its ${kB(terminal)}`);
    },
  };
}
