import { readFileSync } from 'node:fs';
import type { Plugin } from 'vite';

// How large the fonts may be, in bytes. They are compressed already, and come after the page: it is readable without them.
const most = 50_000;

/** fonts puts the licence of the shipped font beside it, and fails the build when the fonts grow past their allowance. */
export function fonts(): Plugin {
  return {
    name: 'svc-fonts',
    apply: 'build',
    enforce: 'post',
    generateBundle(_, bundle) {
      let size = 0;
      for (const file of Object.values(bundle))
        if (file.type === 'asset' && file.fileName.endsWith('.woff2')) size += file.source.length;
      this.info(`fonts ${(size / 1000).toFixed(1)} kB of ${most / 1000} kB`);
      if (size === 0 || size > most)
        this.error(`the fonts are ${size} bytes: more than none, at most ${most}`);
      const licence = new URL('node_modules/@fontsource/jetbrains-mono/LICENSE', import.meta.url);
      this.emitFile({
        type: 'asset',
        fileName: 'jetbrains-mono-LICENSE.txt',
        source: readFileSync(licence),
      });
    },
  };
}
