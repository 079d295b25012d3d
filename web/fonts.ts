import { readFileSync } from 'node:fs';
import type { Plugin } from 'vite';

// The maximal size of the fonts, in bytes. They are compressed already. The page is readable before they arrive.
const most = 50_000;

/** fonts writes the licence of the shipped font beside it, and fails the build when the fonts exceed their limit. */
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
